// Targets: their verdicts, and where the nodes of the model run.

import type { OtherNode, Summary, TargetView } from "./answers";
import { button, counted, make, type Content } from "./dom";
import { facts, section } from "./overview";
import { count, named, rich, type Select } from "./text";

/** The reactions of the page to the tab. */
export interface TargetActs {
  /** Shows the places of a target, or of none with an empty name. */
  target(name: string): void;
  /** Shows the nodes of a partition. */
  partition(items: readonly string[]): void;
}

export type List = (entries: readonly OtherNode[], entry: (of: OtherNode) => HTMLElement) => HTMLElement;

/** The selector of the target in the head of the page. */
export function selector({ targets }: Summary, act: TargetActs["target"]): HTMLSelectElement {
  const option = (value: string, text: string): HTMLElement => make("option", { value }, text);
  const options = targets.map(({ name, verdict }) => option(name, `${name}: ${verdict}`));
  const element = make("select", { id: "target", "aria-label": "Target", title: "Colours of nodes" }, option("", "No target"), ...options);
  element.addEventListener("change", () => act(element.value));
  return element;
}

/** The verdicts of all targets, and the facts about the selected one. */
export function targets(summary: Summary, shown: TargetView | null, acts: TargetActs, select: Select, list: List): Content[] {
  const verdicts = summary.targets.map(({ name, verdict }) => {
    const isShown = name === shown?.name;
    const open = button("", () => acts.target(isShown ? "" : name), { "aria-pressed": String(isShown) });
    open.append(make("strong", {}, name), " ", make("span", { class: "quiet" }, verdict));
    return make("li", {}, open);
  });
  return [make("h2", { class: "hidden" }, "Targets"), make("ul", { class: "list" }, ...verdicts), ...(shown === null ? [] : factsOf(shown, acts, select, list))];
}

function factsOf({ is_measured, places, rows, partitions, total, others }: TargetView, acts: TargetActs, select: Select, list: List): Content[] {
  const letter = (place: string, text: string): HTMLElement => make("span", { class: `letter ${place}` }, text);
  const counts = places.map(({ place, letter: text, text: words }) => make("li", {}, letter(place, text), " ", words));
  const parts = partitions.map(({ nodes, items }, at) =>
    make("li", {}, button(`${count(at + 1)}: ${counted(nodes, "node")}`, () => acts.partition(items))),
  );
  const other = ({ item, place, letter: text, operator, title, text: reason }: OtherNode): HTMLElement => {
    const open = button("", () => select(item));
    open.append(letter(place, text), " ", named({ operator, text: title }), make("span", { class: "message" }, rich(reason)));
    return make("li", {}, open);
  };
  const note = is_measured ? null : make("p", { class: "quiet" }, "Nodes without a letter have no problem with this target.");
  return [
    section("Nodes", make("ul", { class: "plain" }, ...counts), note),
    ...facts("Verdict", rows, select),
    parts.length === 0 ? null : section("Partitions of the device", make("ul", { class: "plain actions" }, ...parts)),
    total === 0 ? null : section(`${is_measured ? "Not on the device" : "Nodes with problems"} (${count(total)})`, list(others, other)),
  ];
}
