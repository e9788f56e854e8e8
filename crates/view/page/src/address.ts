// The address of the page: the link of the selected item, the target and the theme, after `#`.

import type { Theme } from "./theme";

export interface Address {
  /** The link of the selected item, see `Details.link`; `null` for the model. */
  readonly link: string | null;
  readonly theme: Theme | null;
  /** The name of the target; empty for none, `null` for the first one. */
  readonly target: string | null;
}

export function readAddress(): Address {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const theme = parameters.get("theme");
  return { link: parameters.get("at"), theme: theme === "dark" || theme === "light" ? theme : null, target: parameters.get("target") };
}

/** The address as text, to be shared. */
export function addressOf({ link, theme, target }: Address): string {
  const parameters = new URLSearchParams();
  if (link !== null) parameters.set("at", link);
  if (target !== null) parameters.set("target", target);
  if (theme !== null) parameters.set("theme", theme);
  return `#${parameters.toString()}`;
}

/** Changes the address, with a new entry in the history of the browser or without. */
export function writeAddress(address: Address, entry: "push" | "replace", state: unknown): void {
  const text = addressOf(address);
  try {
    if (entry === "push" && text !== location.hash) history.pushState(state, "", text);
    else history.replaceState(state, "", text);
  } catch {
    // Frames without an address of their own, such as those of notebooks, have no history.
  }
}
