// The message of a diagnostic, and the causes of types.

import type { Causes, Excerpt, ExcerptLine, Message } from "./answers";
import { counted, make, type Content } from "./dom";
import { named, reference, rich, typed, type Select } from "./text";

/** The parts of a message below its first sentence. */
export function messageOf(message: Message, select: Select): HTMLElement[] {
  const prose = (text: string): DocumentFragment => rich(text, message.names, select);
  const note = ([kind, text]: readonly [string, string]): HTMLElement => {
    const [first = "", ...rest] = text.split("\n");
    // Further lines are columns that are aligned.
    const table = rest.length === 0 ? null : make("pre", { tabindex: "0" }, ...typed(rest.join("\n")));
    return make("div", { class: kind }, make("p", {}, make("strong", {}, `${kind} `), prose(first)), table);
  };
  const notes = message.notes.map((text) => ["note", text] as const);
  const help = message.help === "" ? [] : [["help", message.help] as const];
  return [
    ...message.excerpts.map((excerpt) => excerptOf(excerpt, prose, select)),
    ...[...notes, ...help].map(note),
    ...(message.source === "" ? [] : [make("p", { class: "source" }, make("strong", {}, "source "), make("code", {}, message.source))]),
  ];
}

type Prose = (text: string) => DocumentFragment;

function excerptOf({ location, operator, name, item, lines }: Excerpt, prose: Prose, select: Select): HTMLElement {
  const title = item === null ? null : reference(named({ operator, text: name }), item, select);
  const caption = make("figcaption", {}, title, title === null ? null : " ", make("span", { class: "quiet" }, rich(location)));
  const [head, ...inputs] = lines;
  return make(
    "figure",
    { class: "excerpt" },
    caption,
    head === undefined ? null : make("div", { class: "head" }, ...lineOf(head, inputs.length > 0 ? /\($/ : null, prose, select)),
    inputs.length === 0
      ? null
      : make("ul", { "aria-label": "Inputs" }, ...inputs.map((line) => make("li", {}, ...lineOf(line, /[,)]$/, prose, select)))),
  );
}

/** A line with its labels below it. The separators of rows are left out. */
function lineOf({ parts, item, type }: ExcerptLine, separator: RegExp | null, prose: Prose, select: Select): Content[] {
  const texts = parts.map(({ text }, at) => (separator !== null && at === parts.length - 1 ? text.replace(separator, "") : text));
  const shown = parts.map(({ label, is_primary }, at) => {
    const text = texts[at] ?? "";
    return label === null ? text : make("span", { class: is_primary ? "marked primary" : "marked" }, text);
  });
  const code = make("code", {}, ...shown);
  const labels = parts.filter(({ label }) => label !== null && label !== "");
  return [
    item === null ? code : reference(code, item, select),
    type === "" ? null : " ",
    type === "" ? null : make("span", { class: "type" }, type),
    ...labels.map(({ label, is_primary }) => make("p", { class: is_primary ? "label primary" : "label" }, prose(label ?? ""))),
  ];
}

/** The chain of causes, and the origins of extents. */
export function causesOf(causes: Causes | null, select: Select): HTMLElement[] {
  if (causes === null) return [];
  const { names } = causes;
  const steps = causes.steps.map(({ text, rule, source }, at) => {
    const isGap = causes.hidden > 0 && at === causes.steps.length - 1;
    return make(
      "li",
      {},
      isGap ? make("p", { class: "quiet" }, `(${counted(causes.hidden, "step")} left out)`) : null,
      rich(text, names, select),
      rule === "" ? null : make("span", { class: "rule" }, `rule ${rule}`),
      source === "" ? null : make("code", { class: "rule" }, source),
    );
  });
  const axes = causes.axes.map(({ text }) => make("li", {}, rich(text, names, select)));
  const section = (title: string, tag: "ol" | "ul", items: readonly HTMLElement[]): HTMLElement[] =>
    items.length === 0 ? [] : [make("section", {}, make("h3", {}, title), make(tag, { class: "causes" }, ...items))];
  return [...section("Causes", "ol", steps), ...section("Origins of extents", "ul", axes)];
}
