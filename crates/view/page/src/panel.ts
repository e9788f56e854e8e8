// The side panel: one tab for the selected item or the model, one for problems, and one for search results.

import type { Causes, Details, Finding, Results, Row, Summary } from "./answers";
import { button, counted, make, type Content } from "./dom";

/** Number of entries of a list that are shown at once. */
const PAGE = 200;

export type Tab = "details" | "problems" | "results";

/** The reactions of the page to the panel. */
export interface Acts {
  select(item: string): void;
  toggle(): void;
  copy(text: string, what: string): void;
  link(): void;
}

export class Panel {
  readonly element = make("aside", { id: "panel", "aria-label": "Details" });
  readonly #tabs: Readonly<Record<Tab, HTMLButtonElement>>;
  readonly #panes: Readonly<Record<Tab, HTMLElement>>;
  readonly #acts: Acts;
  readonly #toggle = button("", () => this.#acts.toggle());
  #tab: Tab = "details";

  constructor(acts: Acts) {
    this.#acts = acts;
    this.#tabs = { details: this.#tabOf("details"), problems: this.#tabOf("problems"), results: this.#tabOf("results") };
    this.#panes = { details: paneOf("details"), problems: paneOf("problems"), results: paneOf("results") };
    const list = make("div", { role: "tablist", "aria-label": "Contents of the panel" }, ...Object.values(this.#tabs));
    list.addEventListener("keydown", (event) => this.#keys(event));
    this.#rename("details", "Details");
    this.#rename("problems", "Problems");
    this.#rename("results", "Results");
    for (const pane of [this.#panes.problems, this.#panes.results]) pane.addEventListener("keydown", (event) => walk(pane, event));
    this.element.append(list, ...Object.values(this.#panes));
    this.open("details");
  }

  /** Shows a tab. */
  open(tab: Tab): void {
    this.#tab = tab;
    for (const name of Object.keys(this.#tabs) as Tab[]) {
      const isOpen = name === tab;
      this.#tabs[name].setAttribute("aria-selected", String(isOpen));
      this.#tabs[name].tabIndex = isOpen ? 0 : -1;
      this.#panes[name].hidden = !isOpen;
    }
  }

  /** Moves the focus to the first entry of a tab. */
  enter(tab: Tab): void {
    this.open(tab);
    (this.#panes[tab].querySelector<HTMLElement>("button") ?? this.#panes[tab]).focus();
  }

  /** Shows the model. */
  model(summary: Summary): void {
    const { nodes, values, errors, warnings, coverage } = summary;
    const counts = [counted(nodes, "node"), counted(values, "value"), counted(errors, "error"), counted(warnings, "warning")];
    const ports = (list: Summary["inputs"]): Row[] => list.map(({ item, name, type }) => rowOf(name, type, item));
    const facts = [
      rowOf("contents", counts.join(", ")),
      rowOf("types", `${count(coverage.proven)} proven, ${count(coverage.assumed)} assumed, ${count(coverage.incomplete)} incomplete`),
      rowOf("producer", summary.producer),
      rowOf("operators", summary.opsets.join(", ")),
    ];
    const changes = summary.changes?.entries.map(({ change, text, item }) => rowOf(change, text, item)) ?? [];
    const symbols = summary.symbols.map(({ name, origin, item }) => rowOf(name, origin, item));
    this.#fill("details", [
      make("h2", {}, summary.title),
      ...this.#section("Model", facts.filter(({ text }) => text !== "")),
      summary.changes?.total === 0 ? make("p", {}, "The models have no differences.") : null,
      ...this.#section("Changes", changes),
      ...this.#section("Inputs", ports(summary.inputs)),
      ...this.#section("Outputs", ports(summary.outputs)),
      ...this.#section("Symbols", symbols),
      ...this.#section("Equations", [], summary.equations.join("\n")),
      summary.note === "" ? null : make("p", {}, summary.note),
    ]);
  }

  /** Shows an item; `expanded` is `null` for an item that is no group. */
  details(details: Details, causes: Causes | null, expanded: boolean | null): void {
    const actions = make(
      "p",
      { class: "actions" },
      this.#toggle,
      button("Copy as text", () => this.#acts.copy(details.text, "text")),
      button("Copy link", () => this.#acts.link()),
    );
    this.state(expanded);
    this.#fill("details", [
      make("h2", {}, details.title),
      actions,
      ...details.sections.flatMap(({ title, rows, pre }) => this.#section(title, rows, pre)),
      ...this.#causes(causes),
    ]);
  }

  /** Shows whether the item is expanded. */
  state(expanded: boolean | null): void {
    this.#toggle.hidden = expanded === null;
    this.#toggle.textContent = expanded === true ? "Collapse" : "Expand";
  }

  /** Shows the diagnostics of the model. */
  problems(problems: readonly Finding[], current: number | null): void {
    this.#rename("problems", `Problems (${problems.length.toLocaleString("en")})`);
    const entry = (problem: Finding, at: number): HTMLElement => {
      const head = make("span", { class: problem.severity }, `${problem.severity}: ${problem.code}`);
      const open = button("", () => this.#acts.select(problem.item), at === current ? { "aria-current": "true" } : {});
      open.append(head, make("span", {}, problem.message));
      return make("li", {}, open);
    };
    const note = problems.length === 0 ? make("p", {}, "The model has no problems.") : null;
    const from = current === null ? 0 : Math.floor(current / PAGE) * PAGE;
    this.#fill("problems", [note, this.#list(problems, entry, from)]);
    this.#panes.problems.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }

  /** Shows the results of a search. */
  results(results: Results | null, query: string): void {
    this.#rename("results", results === null ? "Results" : `Results (${results.total.toLocaleString("en")})`);
    if (results === null) {
      this.#fill("results", [make("p", {}, "The results of a search appear here.")]);
      return;
    }
    if (results.error !== "") {
      this.#fill("results", [make("p", { class: "error" }, results.error)]);
      return;
    }
    const shown = results.results.length;
    const more = shown < results.total ? `, the first ${shown.toLocaleString("en")} are shown` : "";
    this.#fill("results", [
      make("p", {}, `${counted(results.total, "result")} for “${query}”${more}`),
      this.#list(
        results.results,
        (result) => {
          const open = button("", () => this.#acts.select(result.item));
          open.append(make("span", { class: "title" }, result.title), make("span", {}, result.text));
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
      const more = make("li", {}, button(`Show more of ${entries.length.toLocaleString("en")}`, () => (more.remove(), add(end))));
      list.append(more);
    };
    add(from);
    return list;
  }

  #section(title: string, rows: readonly Row[], pre: string | null = null): HTMLElement[] {
    if (rows.length === 0 && !pre) return [];
    const list = rows.length === 0 ? null : make("dl", {}, ...rows.map((row) => this.#row(row)));
    return [make("section", {}, make("h3", {}, title), list, pre ? make("pre", { tabindex: "0" }, pre) : null)];
  }

  #row({ label, text, item, severity }: Row): HTMLElement {
    const content = item ? this.#reference(text, item) : make("span", severity ? { class: severity } : {}, text);
    return make("div", {}, make("dt", {}, label), make("dd", {}, content));
  }

  #reference(text: string, item: string): HTMLElement {
    return button(text, () => this.#acts.select(item), { class: "reference" });
  }

  #causes(causes: Causes | null): HTMLElement[] {
    if (causes === null) return [];
    const steps = causes.steps.map(({ text, value, rule, source }, at) => {
      const isGap = causes.hidden > 0 && at === causes.steps.length - 1;
      return make(
        "li",
        {},
        isGap ? make("p", {}, `(${counted(causes.hidden, "step")} left out)`) : null,
        this.#reference(text, value),
        rule === "" ? null : make("span", { class: "rule" }, `rule ${rule}`),
        source === "" ? null : make("code", {}, source),
      );
    });
    const axes = causes.axes.map(({ text, source }) => make("li", {}, this.#reference(text, source)));
    return [
      ...(steps.length === 0 ? [] : [make("section", {}, make("h3", {}, "Causes"), make("ol", { class: "causes" }, ...steps))]),
      ...(axes.length === 0 ? [] : [make("section", {}, make("h3", {}, "Origins of extents"), make("ul", { class: "causes" }, ...axes))]),
    ];
  }

  #fill(tab: Tab, contents: readonly Content[]): void {
    const pane = this.#panes[tab];
    pane.replaceChildren(...contents.filter((content) => content !== null && content !== undefined));
    pane.scrollTop = 0;
  }

  #tabOf(name: Tab): HTMLButtonElement {
    const attributes = { role: "tab", id: `tab-${name}`, "aria-controls": `pane-${name}` };
    return button("", () => this.open(name), attributes);
  }

  #rename(tab: Tab, text: string): void {
    this.#tabs[tab].textContent = text;
  }

  #keys(event: KeyboardEvent): void {
    const names = Object.keys(this.#tabs) as Tab[];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = names[(names.indexOf(this.#tab) + step + names.length) % names.length] ?? "details";
    this.open(next);
    this.#tabs[next].focus();
  }
}

/** Moves the focus to the next or previous entry of a list. */
function walk(pane: HTMLElement, event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const entries = [...pane.querySelectorAll("button")];
  const next = entries[entries.findIndex((entry) => entry === document.activeElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

function count(of: number): string {
  return of.toLocaleString("en");
}

function rowOf(label: string, text: string, item: string | null = null): Row {
  return { label, text, item, severity: null };
}

function paneOf(name: Tab): HTMLElement {
  return make("div", { role: "tabpanel", id: `pane-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" });
}
