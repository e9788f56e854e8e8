// Keys, and the dialog that lists them.

import { button, make } from "./dom";

/** The commands of the keyboard. */
export interface Commands {
  next(step: number): void;
  edge(step: 1 | -1): void;
  end(step: 1 | -1): void;
  open(): void;
  leave(): void;
  problem(step: 1 | -1): void;
  search(): void;
  fit(): void;
  zoom(factor: number): void;
  theme(): void;
  copy(): void;
}

const LIST: readonly (readonly [keys: string, text: string])[] = [
  ["Arrows", "previous and next box, in reading order"],
  ["Alt + ↑ ↓", "along an edge: to the first input, to the first reader"],
  ["Home, End", "first and last box"],
  ["Enter", "expand or collapse a group, function or nested graph"],
  ["Escape", "back to the model; leave the search"],
  ["n, p", "next and previous problem"],
  ["/", "search"],
  ["+, -, 0", "zoom in and out, show everything"],
  ["t", "dark or light"],
  ["c", "copy the selected item as text"],
  ["?", "this list"],
  ["Wheel, drag", "move the picture; with Ctrl the wheel zooms"],
];

const SEARCHES: readonly (readonly [query: string, text: string])[] = [
  ["layers.0", "part of a name"],
  ["MatMul, op:MatMul", "operator"],
  ["float16", "element type"],
  ["[*, seq, *]", "shape: * is any extent"],
  ["code:dim-mismatch", "diagnostic code"],
];

export class Keys {
  readonly dialog: HTMLDialogElement;
  readonly #commands: Commands;
  readonly #graph: HTMLElement;
  readonly #single = make("input", { type: "checkbox", id: "single-keys", checked: "" });

  constructor(commands: Commands, graph: HTMLElement) {
    this.#commands = commands;
    this.#graph = graph;
    const table = (rows: typeof LIST): HTMLElement =>
      make("dl", { class: "keys" }, ...rows.map(([key, text]) => make("div", {}, make("dt", {}, key), make("dd", {}, text))));
    this.dialog = make(
      "dialog",
      { "aria-labelledby": "help-title" },
      make("h2", { id: "help-title" }, "Keys"),
      table(LIST),
      make("p", {}, this.#single, make("label", { for: "single-keys" }, " Keys of one character")),
      make("h2", {}, "Search"),
      table(SEARCHES),
      button("Close", () => this.dialog.close()),
    );
    document.addEventListener("keydown", (event) => {
      if (this.#handle(event)) event.preventDefault();
    });
  }

  help(): void {
    this.dialog.showModal();
  }

  #handle(event: KeyboardEvent): boolean {
    if (this.dialog.open || event.ctrlKey || event.metaKey) return false;
    const target = event.target;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
    if (event.key === "Escape") {
      this.#commands.leave();
      return true;
    }
    if (isTyping) return false;
    const isInGraph = target instanceof Node && (this.#graph.contains(target) || target === document.body);
    return (isInGraph && this.#move(event)) || (!event.altKey && this.#single.checked && this.#command(event.key));
  }

  #move({ key, altKey }: KeyboardEvent): boolean {
    const commands = this.#commands;
    if (altKey && (key === "ArrowUp" || key === "ArrowDown")) commands.edge(key === "ArrowUp" ? -1 : 1);
    else if (altKey) return false;
    else if (key === "ArrowUp" || key === "ArrowLeft") commands.next(-1);
    else if (key === "ArrowDown" || key === "ArrowRight") commands.next(1);
    else if (key === "Home" || key === "End") commands.end(key === "Home" ? -1 : 1);
    else if (key === "Enter" || key === " ") commands.open();
    else return false;
    return true;
  }

  #command(key: string): boolean {
    const commands = this.#commands;
    if (key === "n" || key === "p") commands.problem(key === "n" ? 1 : -1);
    else if (key === "/") commands.search();
    else if (key === "+" || key === "=") commands.zoom(1.25);
    else if (key === "-") commands.zoom(0.8);
    else if (key === "0") commands.fit();
    else if (key === "t") commands.theme();
    else if (key === "c") commands.copy();
    else if (key === "?") this.help();
    else return false;
    return true;
  }
}
