// Dark and light. The choice is part of the address, not of the browser's storage.

import style from "../../src/svg/style.css";

export type Theme = "dark" | "light";

/** The style of pictures in one theme: the rules for dark ones are a media query at the end of the style sheet. */
export function graphStyle(theme: Theme): string {
  const [light = "", dark = ""] = style.split(/@media[^{]*\{/);
  return theme === "light" ? light : light + dark.slice(0, dark.lastIndexOf("}"));
}

export class Themes {
  readonly #sheet = new CSSStyleSheet();
  readonly #media = matchMedia("(prefers-color-scheme: dark)");
  #chosen: Theme | null = null;

  constructor() {
    document.adoptedStyleSheets = [this.#sheet];
    this.#media.addEventListener("change", () => this.#apply());
    this.#apply();
  }

  get current(): Theme {
    return this.#chosen ?? (this.#media.matches ? "dark" : "light");
  }

  /** The theme of the button; `null` if the reader's system decides. */
  get chosen(): Theme | null {
    return this.#chosen;
  }

  choose(theme: Theme | null): void {
    this.#chosen = theme;
    this.#apply();
  }

  toggle(): void {
    this.choose(this.current === "dark" ? "light" : "dark");
  }

  #apply(): void {
    document.documentElement.dataset["theme"] = this.current;
    this.#sheet.replaceSync(graphStyle(this.current));
  }
}
