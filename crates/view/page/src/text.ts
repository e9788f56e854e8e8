// Texts of a model: names, types and sentences in which names are in backticks.

import type { NamedItem } from "./answers";
import { button, make, type Content } from "./dom";

/** Selects an item. */
export type Select = (item: string) => void;

/** A tensor type: an element type of ONNX, with or without a shape. */
const TYPE = /\b(?:b?float(?:16|8\w+|4\w+)?|double|u?int(?:2|4|8|16|32|64)|bool|string|complex(?:64|128))\b(?:\[[^\]\n]*\])?/g;

/** A name that selects its item. */
export function reference(content: Content, item: string | null, select: Select, kind = ""): HTMLElement {
  if (item === null) return make("span", { class: kind }, content);
  const element = button("", () => select(item), { class: `reference ${kind}` });
  element.append(content ?? "");
  return element;
}

/** An item: the operator and the name of a node, or a name, and a type. */
export function named(of: { readonly operator: string; readonly text: string; readonly type?: string }): DocumentFragment {
  const parts = [
    of.operator === "" ? null : make("span", { class: "operator" }, of.operator),
    of.text === "" ? null : make("span", { class: "name" }, of.text),
    !of.type ? null : make("span", { class: "type" }, of.type),
  ].filter((part) => part !== null);
  const out = document.createDocumentFragment();
  // Spaces are part of a copied text.
  parts.forEach((part, at) => out.append(at > 0 ? " " : "", part));
  return out;
}

/** A sentence with coloured types. Names are references if they are listed. */
export function rich(text: string, names: readonly NamedItem[] = [], select: Select | null = null): DocumentFragment {
  const out = document.createDocumentFragment();
  text.split("`").forEach((part, at, all) => {
    // Without a second backtick, the last part is no name.
    if (at % 2 === 0 || at === all.length - 1) return out.append(...(at % 2 === 0 ? typed(part) : ["`" + part]));
    const item = names.find(({ name }) => name === part)?.item;
    out.append(item !== undefined && select !== null ? reference(part, item, select, "name") : make("code", {}, part));
  });
  return out;
}

/** A text with coloured types. */
export function typed(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let from = 0;
  for (const found of text.matchAll(TYPE)) {
    parts.push(text.slice(from, found.index), make("span", { class: "type" }, found[0]));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

export function count(of: number): string {
  return of.toLocaleString("en");
}

const UNITS = ["", "K", "M", "B", "T"];

/** A large number with three digits: `1.23M`. */
export function rounded(of: number): string {
  const power = of < 10_000 ? 0 : Math.min(Math.floor(Math.log10(of) / 3), UNITS.length - 1);
  return power === 0 ? count(of) : `${Number((of / 1000 ** power).toPrecision(3))}${UNITS[power]}`;
}

/** A size in bytes: `4.91 MB`. */
export function bytes(of: number): string {
  const power = of < 1000 ? 0 : Math.min(Math.floor(Math.log10(of) / 3), 4);
  return power === 0 ? `${of} bytes` : `${Number((of / 1000 ** power).toPrecision(3))} ${["", "kB", "MB", "GB", "TB"][power]}`;
}
