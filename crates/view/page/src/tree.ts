// The tree of groups, nested graphs and functions. Levels are asked for when they are expanded.

import type { InnerGroup } from "./answers";
import { counted, make } from "./dom";
import { named } from "./text";

/** The reactions of the page to the tree. */
export interface TreeActs {
  /** The groups inside of a path. */
  groups(place: string): readonly InnerGroup[];
  /** Shows a group in the picture. */
  show(item: string, place: string): void;
}

export class Tree {
  readonly element = make("ul", { role: "tree", "aria-label": "Groups" });
  readonly #acts: TreeActs;

  constructor(acts: TreeActs) {
    this.#acts = acts;
    this.element.append(...this.#level("", 1));
    this.element.querySelector('[role="treeitem"]')?.setAttribute("tabindex", "0");
    this.element.addEventListener("keydown", (event) => {
      if (this.#key(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
    this.element.addEventListener("click", (event) => {
      const target = event.target as Element;
      const item = target.closest<HTMLElement>('[role="treeitem"]');
      if (item === null) return;
      this.#focus(item);
      if (target.closest(".twisty") !== null && item.hasAttribute("aria-expanded")) this.#toggle(item);
      else this.#show(item);
    });
  }

  #level(place: string, level: number): HTMLElement[] {
    return this.#acts.groups(place).map((group) => {
      const { item, place: own, operator, title, nodes, errors, warnings, changes, has_groups } = group;
      const badge = (kind: string, text: string): HTMLElement => make("span", { class: `badge ${kind}` }, text);
      const row = make(
        "div",
        { class: "row" },
        make("span", { class: "twisty", "aria-hidden": "true" }),
        make("span", { class: "title" }, named({ operator, text: title })),
        errors > 0 ? badge("error", counted(errors, "error")) : null,
        warnings > 0 ? badge("warning", counted(warnings, "warning")) : null,
        changes === "" ? null : badge("changed", changes),
        " ",
        make("span", { class: "count" }, counted(nodes, "node")),
      );
      row.style.setProperty("--level", String(level));
      const attributes = { role: "treeitem", tabindex: "-1", "aria-level": String(level), "data-place": own, "data-group": item };
      return make("li", has_groups ? { ...attributes, "aria-expanded": "false" } : attributes, row);
    });
  }

  #toggle(item: HTMLElement): void {
    const isOpen = item.getAttribute("aria-expanded") === "true";
    item.setAttribute("aria-expanded", String(!isOpen));
    item.querySelector(':scope > [role="group"]')?.remove();
    if (isOpen) return;
    const level = Number(item.getAttribute("aria-level")) + 1;
    item.append(make("ul", { role: "group" }, ...this.#level(item.dataset["place"] ?? "", level)));
  }

  #show(item: HTMLElement): void {
    for (const old of this.element.querySelectorAll('[aria-current="true"]')) old.removeAttribute("aria-current");
    item.setAttribute("aria-current", "true");
    this.#acts.show(item.dataset["group"] ?? "", item.dataset["place"] ?? "");
  }

  #focus(item: Element | null | undefined): void {
    if (!(item instanceof HTMLElement)) return;
    for (const old of this.element.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus();
    item.firstElementChild?.scrollIntoView({ block: "nearest" });
  }

  #key({ key, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
    const at = document.activeElement;
    if (!(at instanceof HTMLElement) || !this.element.contains(at) || altKey || ctrlKey || metaKey) return false;
    const all = [...this.element.querySelectorAll('[role="treeitem"]')];
    const expanded = at.getAttribute("aria-expanded");
    const outer = at.parentElement?.closest('[role="treeitem"]');
    if (key === "ArrowDown") this.#focus(all[all.indexOf(at) + 1]);
    else if (key === "ArrowUp") this.#focus(all[all.indexOf(at) - 1]);
    else if (key === "Home") this.#focus(all[0]);
    else if (key === "End") this.#focus(all.at(-1));
    else if (key === "ArrowRight" && expanded === "true") this.#focus(at.querySelector('[role="treeitem"]'));
    else if (key === "ArrowRight" && expanded === "false") this.#toggle(at);
    else if (key === "ArrowLeft" && expanded === "true") this.#toggle(at);
    else if (key === "ArrowLeft") this.#focus(outer);
    else if (key === "Enter" || key === " ") this.#show(at);
    else return false;
    return true;
  }
}
