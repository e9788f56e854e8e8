// The side panel: tabs for changes, targets, the model, the selected item, problems, groups and search results.

import type { Causes, Details, Finding, Message, Results, Summary, TargetView } from "./answers";
import { button, counted, make, type Content } from "./dom";
import { causesOf, messageOf } from "./message";
import { changes, facts, overview } from "./overview";
import { targets, type TargetActs } from "./targets";
import { count, named, rich } from "./text";
import { Tree, type TreeActs } from "./tree";

/** Number of entries of a list that are shown at once. */
const PAGE = 200;

/** The tabs in their order, with their names. */
const NAMES = { changes: "Changes", targets: "Targets", model: "Model", details: "Details", problems: "Problems", groups: "Groups", results: "Results" };

export type Tab = keyof typeof NAMES;

const TABS = Object.keys(NAMES) as Tab[];

/** The reactions of the page to the panel. */
export interface Acts extends TreeActs, TargetActs {
  select(item: string): void;
  search(query: string): void;
  toggle(): void;
  copy(text: string, what: string): void;
  link(link: string): void;
}

/** The problem that is open, with its message. */
export interface OpenProblem {
  readonly item: string;
  /** The position in the list; -1 for a problem that is not listed. */
  readonly at: number;
  readonly message: Message;
  readonly text: string;
  readonly link: string;
  readonly causes: Causes | null;
}

export class Panel {
  readonly element = make("aside", { id: "panel", "aria-label": "Details" });
  readonly #tabs: Readonly<Record<Tab, HTMLButtonElement>>;
  readonly #panes: Readonly<Record<Tab, HTMLElement>>;
  readonly #acts: Acts;
  readonly #toggle = button("", () => this.#acts.toggle());
  #tab: Tab = "model";

  constructor(acts: Acts, summary: Summary) {
    this.#acts = acts;
    const record = <T>(of: (tab: Tab) => T): Record<Tab, T> => Object.fromEntries(TABS.map((tab) => [tab, of(tab)])) as Record<Tab, T>;
    this.#tabs = record((tab) => button(NAMES[tab], () => this.open(tab), { role: "tab", id: `tab-${tab}`, "aria-controls": `pane-${tab}` }));
    this.#panes = record((tab) => make("div", { role: "tabpanel", id: `pane-${tab}`, "aria-labelledby": `tab-${tab}`, tabindex: "0" }));
    const list = make("div", { role: "tablist", "aria-label": "Contents of the panel" }, ...Object.values(this.#tabs));
    list.addEventListener("keydown", (event) => this.#keys(event));
    for (const pane of [this.#panes.problems, this.#panes.results]) pane.addEventListener("keydown", (event) => walk(pane, event));
    this.element.append(list, ...Object.values(this.#panes));
    this.#show("changes", summary.changes !== null);
    this.#show("targets", summary.targets.length > 0);
    this.#show("groups", summary.has_groups);
    this.#show("details", false);
    this.#show("results", false);
    if (summary.changes !== null) {
      this.#rename("changes", summary.changes.total);
      this.#fill("changes", changes(summary, acts.select));
    }
    this.#fill("model", overview(summary, acts.select, acts.search));
    if (summary.has_groups) this.#fill("groups", [new Tree(acts).element]);
    this.open("model");
  }

  get tab(): Tab {
    return this.#tab;
  }

  /** Shows a tab. */
  open(tab: Tab): void {
    this.#tab = tab;
    this.#show(tab, true);
    for (const name of TABS) {
      const isOpen = name === tab;
      this.#tabs[name].setAttribute("aria-selected", String(isOpen));
      this.#tabs[name].tabIndex = isOpen ? 0 : -1;
      this.#panes[name].hidden = !isOpen;
    }
    this.#tabs[tab].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Moves the focus to the first entry of a tab. */
  enter(tab: Tab): void {
    this.open(tab);
    (this.#panes[tab].querySelector<HTMLElement>("button") ?? this.#panes[tab]).focus();
  }

  /** Removes the details of the item that was selected. */
  leave(): void {
    this.#show("details", false);
  }

  /** Shows an item; `expanded` is `null` for an item that is no group. */
  details(details: Details, causes: Causes | null, expanded: boolean | null): void {
    const { operator, title } = details;
    this.state(expanded);
    this.#fill("details", [
      make("h2", {}, named({ operator, text: title })),
      this.#actions(details, this.#toggle),
      ...details.sections.flatMap(({ title, rows }) => facts(title, rows, this.#acts.select)),
      ...causesOf(causes, this.#acts.select),
    ]);
  }

  #actions({ text, link }: { readonly text: string; readonly link: string }, ...others: readonly Content[]): HTMLElement {
    const copy = button("Copy as text", () => this.#acts.copy(text, "text"));
    return make("p", { class: "actions" }, ...others, copy, button("Copy link", () => this.#acts.link(link)));
  }

  /** Shows whether the item is expanded. */
  state(expanded: boolean | null): void {
    this.#toggle.hidden = expanded === null;
    this.#toggle.textContent = expanded === true ? "Collapse" : "Expand";
  }

  /** Shows the diagnostics of the model, one of them with its message. */
  problems({ diagnostics, unreported }: Summary, open: OpenProblem | null): void {
    this.#rename("problems", diagnostics.length);
    const entry = (problem: Pick<Finding, "item" | "code" | "severity" | "message" | "operator" | "target">, at: number): HTMLElement => {
      const isOpen = at === open?.at;
      const head = button("", () => this.#acts.select(problem.item), { "aria-expanded": String(isOpen), class: "head" });
      head.append(
        make("span", { class: `badge ${problem.severity}` }, problem.severity),
        " ",
        make("span", { class: "code" }, problem.code),
        make("span", { class: "message" }, rich(isOpen ? open.message.text : problem.message)),
        isOpen ? "" : make("span", { class: "at" }, named({ operator: problem.operator, text: problem.target })),
      );
      return make("li", { class: `problem ${problem.severity}` }, head, isOpen ? this.#message(open) : null);
    };
    const others = unreported === "" ? null : make("p", { class: "quiet" }, `Not reported: ${unreported}.`);
    const note = diagnostics.length > 0 || unreported !== "" ? null : make("p", {}, "The model has no problems.");
    const from = open === null ? 0 : Math.max(0, Math.floor(open.at / PAGE) * PAGE);
    const unlisted = open === null || open.at >= 0 ? [] : [{ ...open.message, item: open.item, message: "", operator: "", target: "" }];
    const hasFocus = this.#panes.problems.contains(document.activeElement);
    this.#fill("problems", [
      make("h2", { class: "hidden" }, "Problems"),
      others,
      note,
      ...unlisted.map((problem) => make("ol", { class: "list" }, entry(problem, -1))),
      this.#list(diagnostics, entry, from),
    ]);
    const pane = this.#panes.problems;
    const head = pane.querySelector<HTMLElement>('[aria-expanded="true"]');
    if (head === null) return;
    pane.scrollTop += head.getBoundingClientRect().top - pane.getBoundingClientRect().top - 6;
    if (hasFocus) head.focus({ preventScroll: true });
  }

  #message(open: OpenProblem): HTMLElement {
    const { message, causes } = open;
    const about = { href: message.uri, target: "_blank", rel: "noopener noreferrer", title: `typeloom explain ${message.code}` };
    return make(
      "div",
      { class: "body" },
      ...messageOf(message, this.#acts.select),
      this.#actions(open, make("a", about, `About ${message.code}`)),
      ...causesOf(causes, this.#acts.select),
    );
  }

  /** Shows the verdicts of targets, and the facts about the selected one. */
  targets(summary: Summary, shown: TargetView | null): void {
    const pane = this.#panes.targets;
    // The buttons are made again, and one of them can have the focus.
    const at = [...pane.querySelectorAll("button")].findIndex((it) => it === document.activeElement);
    this.#fill("targets", targets(summary, shown, this.#acts, this.#acts.select, (entries, entry) => this.#list(entries, entry, 0)));
    pane.querySelectorAll("button")[at]?.focus();
  }

  /** Shows the results of a search; `null` without one. */
  results(results: Results | null, query: string): void {
    if (results === null) {
      this.#show("results", false);
      if (this.#tab === "results") this.open("model");
      return;
    }
    this.#rename("results", results.total);
    if (results.error !== "") return this.#fill("results", [make("p", { class: "error" }, results.error)]);
    const shown = results.results.length;
    const more = shown < results.total ? `, the first ${count(shown)} are shown` : "";
    this.#fill("results", [
      make("p", {}, `${counted(results.total, "result")} for “${query}”${more}`),
      this.#list(
        results.results,
        ({ item, operator, title, text }) => {
          const open = button("", () => this.#acts.select(item), { class: "head" });
          open.append(make("span", { class: "title" }, named({ operator, text: title })), make("span", { class: "message" }, rich(text)));
          return make("li", {}, open);
        },
        0,
      ),
    ]);
  }

  /** A list with a button for its next entries. */
  #list<T>(entries: readonly T[], entry: (of: T, at: number) => HTMLElement, from: number): HTMLElement {
    const list = make("ol", { class: "list", start: String(from + 1) });
    const add = (start: number): void => {
      const end = Math.min(start + PAGE, entries.length);
      list.append(...entries.slice(start, end).map((of, at) => entry(of, start + at)));
      if (end === entries.length) return;
      const more = make("li", {}, button(`Show more of ${count(entries.length)}`, () => (more.remove(), add(end))));
      list.append(more);
    };
    add(from);
    return list;
  }

  #fill(tab: Tab, contents: readonly Content[]): void {
    const pane = this.#panes[tab];
    pane.replaceChildren(...contents.filter((content) => content !== null && content !== undefined));
    pane.scrollTop = 0;
  }

  #show(tab: Tab, isShown: boolean): void {
    this.#tabs[tab].hidden = !isShown;
  }

  #rename(tab: Tab, entries: number): void {
    this.#tabs[tab].textContent = `${NAMES[tab]} (${count(entries)})`;
  }

  #keys(event: KeyboardEvent): void {
    const names = TABS.filter((tab) => !this.#tabs[tab].hidden);
    const at = names.indexOf(this.#tab);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1 + names.length, Home: 0, End: names.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = names[next % names.length] ?? "model";
    this.open(tab);
    this.#tabs[tab].focus();
  }
}

/** Moves the focus to the next or previous entry of a list. */
function walk(pane: HTMLElement, event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const entries = [...pane.querySelectorAll<HTMLElement>(".list > li > button")];
  const next = entries[entries.findIndex((entry) => entry === document.activeElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
