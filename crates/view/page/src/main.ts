// The page of a model: connects the engine, the picture, the panel and the keyboard.

import type { Details, Picture, Summary } from "./answers";
import { addressOf, readAddress, writeAddress, type Address } from "./address";
import { button, byId, counted, make } from "./dom";
import { Engine } from "./engine";
import { copyText, pngBlob, save, svgBlob } from "./export";
import { Graph, type Spot } from "./graph";
import { Keys } from "./keys";
import { Panel, type Tab } from "./panel";
import { watch } from "./reload";
import { selector } from "./targets";
import { count } from "./text";
import { Themes } from "./theme";

const MAX_RESULTS = 1000;

/** The number of changes that are tried when a page opens. */
const MAX_TRIED = 20;

/** How a selection changes the history, and whether the focus moves to its box. */
interface Move {
  readonly entry: "push" | "replace" | null;
  readonly focus?: boolean;
  /** Whether the spot is a box or link of the picture. */
  readonly isDrawn?: boolean;
  /** The tab that is shown; the details of the item without it. */
  readonly tab?: Tab;
  /** The highlighted items, if the item has no causes. */
  readonly highlight?: readonly string[];
}

/** The part of the state that the address does not contain. */
interface State {
  readonly expanded: readonly string[] | null;
}

class Page {
  readonly #engine: Engine;
  readonly #summary: Summary;
  readonly #themes = new Themes();
  readonly #graph = new Graph((spot) => this.#pick(spot));
  readonly #panel: Panel;
  readonly #search = make("input", {
    type: "search",
    id: "search",
    "aria-label": "Search by name, operator, type or code",
    placeholder: "Search: name, operator, float16, [*, seq], code",
    autocomplete: "off",
    spellcheck: "false",
  });
  readonly #status = make("p", { role: "status", class: "hidden" });
  readonly #note = make("details", { id: "drawn" });
  readonly #keys: Keys;
  /** The expanded groups; `null` for the default picture. */
  #expanded: readonly string[] | null = null;
  #highlight: readonly string[] = [];
  readonly #targets: HTMLSelectElement;
  /** The name of the target whose places are shown; empty for none. */
  #target = "";
  #selected: Spot | null = null;
  /** The box of the selected item. */
  #shown: Spot | null = null;
  #details: Details | null = null;
  #problem: number | null = null;
  #timer = 0;
  #toast = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#summary = engine.ask({ ask: "summary" });
    this.#panel = new Panel(
      {
        select: (item) => this.#select({ item, place: null }, { entry: "push" }),
        search: (query) => this.#searchFor(query),
        toggle: () => this.#toggle(),
        copy: (text, what) => void this.#copy(text, what),
        link: (link) => void this.#copy(this.#permalink(link), "link"),
        groups: (place) => engine.ask({ ask: "groups", place }).groups,
        show: (item, place) => this.#showGroup({ item, place }),
        target: (name) => this.#showTarget(name),
        partition: (items) => this.#showPartition(items),
      },
      this.#summary,
    );
    this.#targets = selector(this.#summary, (name) => this.#showTarget(name));
    this.#keys = new Keys(
      {
        next: (step) => this.#visit(this.#graph.neighbour(this.#at, step)),
        edge: (step) => this.#follow(step),
        end: (step) => this.#visit(step < 0 ? this.#graph.boxes[0] : this.#graph.boxes.at(-1)),
        open: () => this.#open(),
        leave: () => this.#leave(),
        problem: (step) => this.#step(step),
        search: () => this.#search.focus(),
        fit: () => this.#graph.camera.fit(),
        zoom: (factor) => this.#graph.camera.zoom(factor),
        theme: () => this.#theme(),
        copy: () => void this.#copy(this.#details?.text ?? this.#graph.boxes.map(({ label }) => label).join("\n"), "text"),
      },
      this.#graph.frame,
    );
    this.#build();
    addEventListener("popstate", () => this.#restore());
  }

  #build(): void {
    const { name, path } = this.#summary;
    const camera = this.#graph.camera;
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#find(), 120);
    });
    const form = make("form", { role: "search" }, this.#search);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#find();
      if (this.#search.value.trim() !== "") this.#panel.enter("results");
    });
    const tools = (label: string, ...buttons: readonly HTMLElement[]): HTMLElement =>
      make("div", { role: "toolbar", "aria-label": label }, ...buttons);
    const header = make(
      "header",
      {},
      make("h1", { title: path }, name),
      this.#verdict(),
      this.#summary.targets.length === 0 ? null : this.#targets,
      form,
      tools(
        "Page",
        button("SVG", () => this.#saveSvg(), { "aria-label": "Save as SVG", title: "Save as SVG" }),
        button("PNG", () => void this.#savePng(), { "aria-label": "Save as PNG", title: "Save as PNG" }),
        button("◐", () => this.#theme(), { "aria-label": "Dark or light theme", title: "Dark or light (t)" }),
        button("?", () => this.#keys.help(), { "aria-label": "Help", title: "Keys and searches (?)" }),
      ),
    );
    const zoom = tools(
      "Picture",
      button("−", () => camera.zoom(0.8), { "aria-label": "Zoom out", title: "Zoom out (-)" }),
      button("+", () => camera.zoom(1.25), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
      button("Fit", () => camera.fit(), { "aria-label": "Fit the whole picture", title: "Show everything (0)" }),
    );
    const help = "Arrow keys move between boxes, Enter expands a group. Press the question mark for all keys.";
    const main = make("main", {}, this.#graph.frame, this.#note, zoom, make("p", { id: "graph-help", class: "hidden" }, help));
    const app = make("div", { id: "app" }, header, main, this.#panel.element, this.#status, this.#keys.dialog);
    this.#panel.problems(this.#summary, null);
    document.body.replaceChildren(app);
    document.title = `${name} - typeloom`;
  }

  /** The numbers of problems, as a button that lists them. */
  #verdict(): HTMLElement {
    const { errors, warnings, unreported } = this.#summary;
    const counts = [errors === 0 ? "" : counted(errors, "error"), warnings === 0 ? "" : counted(warnings, "warning"), unreported];
    const text = counts.filter((it) => it !== "").join(", ");
    const kind = errors > 0 ? "error" : warnings > 0 ? "warning" : "ok";
    return button(text === "" ? "No problems" : text, () => this.#panel.open("problems"), { class: `verdict ${kind}` });
  }

  /** Shows the item of the address. */
  start(): void {
    this.#restore();
    watch((text) => this.#announce(text, "shown"));
  }

  #restore(): void {
    const { link, theme, target } = readAddress();
    const { changes, diagnostics, targets } = this.#summary;
    const isUnknown = target !== null && target !== "" && !targets.some(({ name }) => name === target);
    this.#setTarget(isUnknown || target === null ? this.#firstTarget : target);
    if (theme !== null) this.#themes.choose(theme);
    const state = history.state as State | null;
    if (state !== null) this.#expanded = state.expanded;
    const item = link === null ? null : this.#engine.ask({ ask: "find", link }).item;
    const isNew = link === null && state === null;
    // A page opens on the changes or targets, or else on the first problem.
    const first = isNew && changes === null && targets.length === 0 ? diagnostics[0]?.item : undefined;
    const shown = item ?? first;
    if (shown !== undefined) this.#select({ item: shown, place: null }, { entry: null });
    else this.#deselect(null);
    if (isNew && changes !== null) this.#showChange();
    else if (isNew && targets.length > 0) this.#panel.open("targets");
    if (isUnknown) this.#announce(`The page has no target ${target}.`, "shown");
    if (link !== null && item === null) this.#announce(`The model has no ${link}.`, "shown");
  }

  get #firstTarget(): string {
    return this.#summary.targets[0]?.name ?? "";
  }

  /** Sets the target of the next picture. */
  #setTarget(name: string): void {
    this.#target = this.#targets.value = name;
    this.#panel.targets(this.#summary, name === "" ? null : this.#engine.ask({ ask: "target", name }));
  }

  #showTarget(name: string): void {
    this.#setTarget(name);
    this.#draw(null);
    this.#panel.open("targets");
    this.#write("push");
    const verdict = this.#summary.targets.find((it) => it.name === name)?.verdict;
    this.#announce(verdict === undefined ? "No target" : `${name}: ${verdict}`, "hidden");
  }

  /** Highlights the nodes of a partition, and moves the picture to the first. */
  #showPartition(items: readonly string[]): void {
    const [item] = items;
    if (item !== undefined) this.#select({ item, place: null }, { entry: "push", tab: "targets", highlight: items });
  }

  /** Shows the changes, and moves the picture of two models to the first one that has a box. */
  #showChange(): void {
    this.#panel.open("changes");
    const items = this.#summary.changes?.entries.map(({ item, items }) => item ?? items[0]?.item ?? null) ?? [];
    for (const item of items.slice(0, MAX_TRIED)) {
      if (item === null) continue;
      const { expanded, shown, place } = this.#engine.ask({ ask: "reveal", item, expanded: this.#drawn });
      if (place === "") continue;
      this.#expanded = expanded;
      this.#draw(null);
      return this.#graph.reveal({ item: shown, place }, "center");
    }
  }

  #view(): { expanded: string[] | null; selected: string | null; highlight: string[]; target: string; max_items: null } {
    const expanded = this.#expanded === null ? null : [...this.#expanded];
    return { expanded, selected: this.#selected?.item ?? null, highlight: [...this.#highlight], target: this.#target, max_items: null };
  }

  #draw(anchor: Spot | null): void {
    const drawing = this.#engine.ask({ ask: "draw", ...this.#view() });
    this.#graph.show(drawing, anchor);
    this.#explain(drawing);
  }

  /** States the number of drawn nodes, and the reasons for others on demand. */
  #explain({ drawn, nodes, notes }: Picture): void {
    const { constants, functions } = this.#summary.sizes;
    const isWhole = drawn === nodes;
    const reasons = [
      ...notes.map((note) => `${note}.`),
      isWhole ? "All nodes are drawn." : "A click on a selected group expands it; the tab Groups lists all groups.",
      constants === 0 ? "" : `${counted(constants, "Constant node")} of the file: a constant is listed at the nodes that read it, and is not counted.`,
      functions === 0 ? "" : "Nodes of functions are drawn inside of their calls, and are not counted.",
    ].filter((reason) => reason !== "");
    const all = counted(nodes, "node");
    const text = isWhole ? all : drawn === 0 ? `${all} in groups` : `${count(drawn)} of ${all} drawn`;
    // The state of the element, which a reader may have opened, stays.
    this.#note.replaceChildren(make("summary", {}, text), make("ul", {}, ...reasons.map((reason) => make("li", {}, reason))));
  }

  /** A click on a box or link: selects it, or expands or collapses it if it is selected. */
  #pick(spot: Spot): void {
    this.#graph.focus(spot);
    const isAgain = this.#selected?.item === spot.item && this.#selected.place === spot.place;
    if (isAgain && this.#graph.isExpanded(spot) !== null) this.#toggle();
    else this.#select(spot, { entry: "push", isDrawn: true });
  }

  #select(spot: Spot, move: Move): void {
    const { item } = spot;
    const details = this.#engine.ask({ ask: "details", item });
    const hasCauses = details.kind === "value" || details.kind === "diagnostic";
    const causes = hasCauses ? this.#engine.ask({ ask: "causes", item }) : null;
    this.#details = details;
    this.#selected = spot;
    this.#highlight = causes?.highlight ?? move.highlight ?? [];
    if (move.isDrawn === true && spot.place !== null) {
      this.#shown = spot;
    } else {
      const { expanded, shown, place } = this.#engine.ask({ ask: "reveal", item, expanded: this.#drawn });
      if (move.isDrawn !== true) this.#expanded = expanded;
      this.#shown = { item: shown, place };
    }
    this.#draw(move.isDrawn === true ? spot : null);
    if (move.focus === true) this.#graph.focus(this.#shown);
    if (move.isDrawn !== true) this.#graph.reveal(this.#shown, "center");
    else if (move.focus === true) this.#graph.reveal(this.#shown, "edge");
    const { message, text, link } = details;
    if (message === null) {
      this.#panel.details(details, causes, this.#graph.isExpanded(this.#shown));
      this.#panel.open(move.tab ?? "details");
    } else {
      const at = this.#summary.diagnostics.findIndex((of) => of.item === item);
      if (at >= 0) this.#problem = at;
      this.#panel.open("problems");
      this.#panel.problems(this.#summary, { item, at, message, text, link, causes });
    }
    this.#announce([details.operator, details.title].filter((part) => part !== "").join(" "), "hidden");
    if (move.entry !== null) this.#write(move.entry);
  }

  /** Shows the model. */
  #deselect(entry: Move["entry"]): void {
    this.#details = null;
    this.#selected = this.#shown = null;
    this.#highlight = [];
    this.#draw(null);
    this.#panel.leave();
    this.#panel.open("model");
    if (entry !== null) this.#write(entry);
  }

  /** The groups that are expanded in the picture. */
  get #drawn(): string[] | null {
    return this.#graph.drawing?.expanded ?? (this.#expanded === null ? null : [...this.#expanded]);
  }

  /** The box with the focus, or else that of the selected item. */
  get #at(): Spot | null {
    const focused = this.#graph.focused;
    return focused === null || focused.place === null ? this.#shown : focused;
  }

  #visit(spot: Spot | undefined): void {
    if (spot !== undefined) this.#select(spot, { entry: "replace", focus: true, isDrawn: true });
  }

  /** Moves to the first input or the first reader of a box. */
  #follow(step: 1 | -1): void {
    const at = this.#at;
    if (at === null) return;
    const { inputs, outputs } = this.#engine.ask({ ask: "neighbours", ...at, expanded: this.#drawn });
    const next = (step < 0 ? inputs : outputs)[0];
    if (next === undefined) this.#announce(step < 0 ? "No inputs" : "No readers", "shown");
    else this.#visit(next);
  }

  #open(): void {
    const at = this.#at;
    if (at === null) this.#visit(this.#graph.boxes[0]);
    else if (this.#graph.isExpanded(at) !== null) this.#toggle();
    else this.#select(at, { entry: "push", focus: true, isDrawn: true });
  }

  /** Expands or collapses a box. */
  #toggle(): void {
    const at = this.#at;
    const box = at === null ? undefined : this.#graph.box(at);
    if (box === undefined || box.is_expanded === null) return;
    const drawn = this.#drawn ?? [];
    const isInside = (place: string): boolean => place === box.place || place.startsWith(`${box.place}/`);
    this.#expanded = box.is_expanded ? drawn.filter((place) => !isInside(place)) : [...drawn, box.place];
    this.#draw(box);
    this.#graph.reveal(box, "edge");
    const isExpanded = this.#graph.isExpanded(box);
    if (isExpanded === box.is_expanded) this.#announce("The picture has too many boxes; collapse other groups.", "shown");
    else this.#announce(isExpanded === true ? "expanded" : "collapsed", "hidden");
    if (this.#details !== null) this.#panel.state(isExpanded);
    this.#write("replace");
  }

  /** Expands a group with those around it, and moves the picture to it. */
  #showGroup(spot: Spot): void {
    const parts = (spot.place ?? "").split("/");
    const paths = parts.map((_, at) => parts.slice(0, at + 1).join("/"));
    // The path of a node expands all of its graphs, not only the next one.
    const around = paths.filter((_, at) => !parts[at]?.startsWith("n") || at === parts.length - 1);
    this.#expanded = [...(this.#drawn ?? []), ...around];
    const show = (): void => this.#select(spot, { entry: "push", isDrawn: true, tab: "groups" });
    show();
    if (this.#graph.isExpanded(spot) !== true) {
      // The picture has too many boxes: other groups are collapsed.
      this.#expanded = around;
      show();
    }
    this.#graph.reveal(spot, "center");
  }

  #leave(): void {
    if (document.activeElement === this.#search) {
      this.#search.blur();
      if (this.#graph.boxes[0] !== undefined) this.#graph.focus(this.#shown ?? this.#graph.boxes[0]);
    } else if (this.#selected !== null) {
      this.#deselect("push");
    }
  }

  /** Selects the next or previous problem. */
  #step(step: 1 | -1): void {
    const { diagnostics } = this.#summary;
    if (diagnostics.length === 0) return this.#announce("The model has no problems.", "shown");
    const from = this.#problem ?? (step > 0 ? -1 : 0);
    const at = (from + step + diagnostics.length) % diagnostics.length;
    const problem = diagnostics[at];
    if (problem === undefined) return;
    this.#select({ item: problem.item, place: null }, { entry: "push" });
    const count = `Problem ${at + 1} of ${diagnostics.length}`;
    this.#announce(`${count}: ${problem.message}`, "hidden");
  }

  #searchFor(query: string): void {
    this.#search.value = query;
    this.#find();
    this.#panel.enter("results");
  }

  #find(): void {
    // Enter does not wait for the pause after the last letter.
    clearTimeout(this.#timer);
    const query = this.#search.value.trim();
    if (query === "") return this.#panel.results(null, "");
    const results = this.#engine.ask({ ask: "search", query, limit: MAX_RESULTS });
    this.#panel.results(results, query);
    this.#panel.open("results");
    this.#announce(results.error === "" ? counted(results.total, "result") : results.error, "hidden");
  }

  #theme(): void {
    this.#themes.toggle();
    this.#write("replace");
  }

  get #address(): Address {
    const target = this.#target === this.#firstTarget ? null : this.#target;
    return { link: this.#details?.link ?? null, theme: this.#themes.chosen, target };
  }

  #write(entry: "push" | "replace"): void {
    const state: State = { expanded: this.#expanded };
    writeAddress(this.#address, entry, state);
  }

  #permalink(link: string): string {
    return location.href.replace(/#.*$/, "") + addressOf({ ...this.#address, link, theme: null });
  }

  async #copy(text: string, what: string): Promise<void> {
    const isCopied = await copyText(text);
    this.#announce(isCopied ? `The ${what} is copied.` : `The browser does not allow to copy the ${what}.`, "shown");
  }

  /** The name of the model without folders. */
  get #fileName(): string {
    return this.#summary.name.split(/[\\/]/).at(-1) || "graph";
  }

  #saveSvg(): void {
    const { svg } = this.#engine.ask({ ask: "export", ...this.#view() });
    save(svgBlob(svg), `${this.#fileName}.svg`);
  }

  async #savePng(): Promise<void> {
    const picture = this.#engine.ask({ ask: "export", ...this.#view() });
    save(await pngBlob(picture, this.#themes.current), `${this.#fileName}.png`);
  }

  /** Reports a change to assistive programs, and shows it for some seconds. */
  #announce(text: string, visibility: "shown" | "hidden"): void {
    this.#status.textContent = text;
    this.#status.classList.toggle("shown", visibility === "shown");
    clearTimeout(this.#toast);
    this.#toast = setTimeout(() => this.#status.classList.remove("shown"), 5000);
  }

  /** Reports an error of the page or of the engine. */
  fail(error: unknown): void {
    this.#announce(`Error: ${textOf(error)}`, "shown");
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function start(): Promise<void> {
  const fallback = document.getElementById("fallback");
  try {
    const page = new Page(await Engine.start());
    page.start();
    addEventListener("error", (event) => page.fail(event.error));
    addEventListener("unhandledrejection", (event) => page.fail(event.reason));
  } catch (error) {
    if (fallback === null) throw error;
    document.body.replaceChildren(fallback);
    delete document.documentElement.dataset["script"];
    const note = byId("note");
    note.setAttribute("role", "alert");
    note.className = "failure";
    note.textContent = `The graph cannot be drawn in this browser: ${textOf(error)}. Problems and values are in the tables below.`;
  }
}

// The tables of the page take longer to be laid out than the graph, and are shown if that fails.
document.documentElement.dataset["script"] = "";
addEventListener("DOMContentLoaded", () => void start());
