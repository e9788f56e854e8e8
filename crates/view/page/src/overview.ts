// The model as a whole: its size, operators, interface and symbols; and the changes between two models.

import type { ChangeEntry, Port, Row, Summary } from "./answers";
import { button, counted, make, type Content } from "./dom";
import { bytes, count, named, reference, rich, rounded, type Select } from "./text";

/** Number of operators that are shown at first. */
const FEW_OPERATORS = 12;

export function section(title: string, ...contents: readonly Content[]): HTMLElement {
  return make("section", {}, make("h3", {}, title), ...contents);
}

/** Facts as rows; nothing if there are none. */
export function facts(title: string, rows: readonly Row[], select: Select): HTMLElement[] {
  if (rows.length === 0) return [];
  const isNumbered = rows.every(({ label }) => /^\d*$/.test(label));
  return [section(title, make("dl", { class: isNumbered ? "numbered" : "" }, ...rows.map((row) => rowOf(row, select))))];
}

function rowOf({ label, operator, text, type, item, severity }: Row, select: Select): HTMLElement {
  // A type is no part of a name that is a reference.
  const name = operator === "" && text === "" ? null : named({ operator, text });
  const sentence = severity === null ? name : make("span", { class: severity }, rich(text));
  const content = name === null ? null : item === null ? sentence : reference(sentence, item, select);
  const shown = type === "" ? null : make("span", { class: "type" }, type);
  return make("div", {}, make("dt", {}, label), make("dd", {}, content, content && shown ? " " : null, shown));
}

function fact(label: string, text: string): Row {
  return { label, operator: "", text, type: "", item: null, severity: null };
}

export function overview(summary: Summary, select: Select, search: (query: string) => void): Content[] {
  const { nodes, values, sizes, coverage, symbols, equations } = summary;
  const tile = (title: string, value: string, more: string): HTMLElement =>
    make("div", {}, make("dt", {}, title), make("dd", {}, make("strong", {}, value), make("span", {}, more)));
  const constants = sizes.constants === 0 ? "" : `and ${counted(sizes.constants, "Constant")}`;
  const tiles = [
    tile("Nodes", count(nodes), constants),
    tile("Parameters", rounded(sizes.parameters), `in ${counted(sizes.initializers, "initializer")}`),
    sizes.file === 0 ? null : tile("File", bytes(sizes.file), "without external data"),
    tile("Typed values", values === 0 ? "none" : percent(coverage.proven, values), `${count(coverage.proven)} of ${count(values)} proven`),
  ];
  const about = [
    fact("path", summary.path),
    fact("producer", summary.producer),
    fact("operator sets", summary.opsets.join(", ")),
    fact("functions", sizes.functions === 0 ? "" : count(sizes.functions)),
    fact("types", coverage.assumed + coverage.incomplete === 0 ? "" : typesText(coverage)),
    fact("not reported", summary.unreported),
  ];
  const ports = (list: readonly Port[]): Row[] => list.map(({ item, name, type }, at) => ({ ...fact(String(at), name), type, item }));
  return [
    make("h2", { class: "file" }, summary.name),
    make("dl", { class: "tiles" }, ...tiles),
    ...facts("Model", about.filter(({ text }) => text !== ""), select),
    ...facts("Inputs", ports(summary.inputs), select),
    ...facts("Outputs", ports(summary.outputs), select),
    ...operators(summary, search),
    ...facts("Symbols", symbols.map(({ name, origin, item }) => ({ ...fact(name, origin), item })), select),
    ...(equations.length === 0 ? [] : [section("Equations", make("ul", { class: "plain" }, ...equations.map((it) => make("li", {}, make("code", {}, it)))))]),
    summary.note === "" ? null : make("p", { class: "quiet" }, summary.note),
  ];
}

function percent(part: number, all: number): string {
  // Only a complete model has 100 %.
  return `${part === all ? 100 : Math.min(99, Math.round((100 * part) / all))} %`;
}

function typesText({ proven, assumed, incomplete }: Summary["coverage"]): string {
  return `${count(proven)} proven, ${count(assumed)} assumed, ${count(incomplete)} incomplete`;
}

/** The operators with their numbers of nodes. One of them is a search. */
function operators({ operators }: Summary, search: (query: string) => void): HTMLElement[] {
  if (operators.length === 0) return [];
  const most = operators[0]?.count ?? 1;
  const list = make("ol", { class: "histogram" });
  const add = (from: number, to: number): void => {
    for (const { operator, count: nodes } of operators.slice(from, to)) {
      const bar = make("span", { class: "bar", "aria-hidden": "true" });
      bar.style.setProperty("--share", String(nodes / most));
      const row = button("", () => search(`op:${operator} is:node`));
      row.append(make("span", { class: "operator" }, operator), " ", bar, make("span", { class: "count" }, count(nodes)));
      list.append(make("li", {}, row));
    }
  };
  add(0, FEW_OPERATORS);
  const more = button(`Show all ${operators.length}`, () => (add(FEW_OPERATORS, operators.length), more.remove()));
  return [section(`Operators (${count(operators.length)})`, list, operators.length > FEW_OPERATORS ? more : null)];
}

const MARKS: Readonly<Record<string, string>> = { added: "+", removed: "−", changed: "~" };

/** The changes between two models. The same change of several items is one entry that expands. */
export function changes(summary: Summary, select: Select): Content[] {
  const { total, entries } = summary.changes ?? { total: 0, entries: [] };
  const line = (change: string, text: string, item: string | null): HTMLElement => {
    const mark = make("span", { class: "mark", role: "img", "aria-label": change }, MARKS[change] ?? "");
    // The name is before the first colon.
    const at = text.indexOf(": ");
    const [name, rest] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
    return make("div", { class: `change ${change}` }, mark, make("span", {}, reference(name, item, select), rich(rest)));
  };
  const entry = ({ change, text, item, count: all, items }: ChangeEntry): HTMLElement => {
    if (items.length === 0) return make("li", {}, line(change, text, item));
    const list = items.map((it) => make("li", {}, line(change, it.text, it.item)));
    const others = all > items.length ? make("li", { class: "quiet" }, `and ${counted(all - items.length, "other")}`) : null;
    const title = make("summary", {}, line(change, text, null));
    return make("li", {}, make("details", {}, title, make("ul", { class: "plain" }, ...list, others)));
  };
  return [
    make("h2", { class: "file" }, summary.name),
    make("p", {}, total === 0 ? "The models have no differences." : counted(total, "change")),
    make("ul", { class: "plain changes" }, ...entries.map(entry)),
    summary.note === "" ? null : make("p", { class: "quiet" }, summary.note),
  ];
}
