// The picture of the graph: boxes and links that can be selected, in the order in which they are read.

import type { DrawnBox, Picture } from "./answers";
import { Camera, TEXT_SCALE, type Goal } from "./camera";
import { make, svg } from "./dom";

/** A box or link of the picture. */
export interface Spot {
  readonly item: string;
  /** The path of items from the main graph: a function that is called twice is drawn twice. */
  readonly place: string | null;
}

/** Maximum number of links of a picture in which a pointer need not hit the line itself. */
const MAX_WIDE_LINKS = 1000;

/** The size of titles of groups in small pictures, and the size below which they are left out, in pixels. */
const TITLE_SIZE = 14;
const MIN_TITLE_SIZE = 7;
/** The minimum width of lines, in pixels. */
const MIN_LINE = 0.6;

export class Graph {
  readonly frame = make("div", {
    id: "graph",
    role: "application",
    "aria-label": "Graph",
    "aria-roledescription": "graph",
    "aria-describedby": "graph-help",
    tabindex: "-1",
  });
  readonly camera = new Camera(this.frame, (scale) => this.#adapt(scale));
  #drawing: Picture | null = null;

  constructor(pick: (spot: Spot) => void) {
    this.frame.addEventListener("click", (event) => {
      const spot = spotOf(event.target);
      if (spot !== null) pick(spot);
    });
    // Boxes that get the focus are made visible by the camera; a frame that scrolls would move the picture twice.
    this.frame.addEventListener("scroll", () => this.frame.scrollTo(0, 0));
  }

  get drawing(): Picture | null {
    return this.#drawing;
  }

  get boxes(): readonly DrawnBox[] {
    return this.#drawing?.boxes ?? [];
  }

  /** Replaces the picture. The given box keeps its position, and the focus its box. */
  show(drawing: Picture, anchor: Spot | null): void {
    const held = anchor === null ? undefined : this.box(anchor);
    const at = held === undefined ? null : this.camera.toFrame(held);
    const focused = spotOf(document.activeElement);
    const isFirst = this.#drawing === null;
    const parsed = new DOMParser().parseFromString(drawing.svg, "image/svg+xml");
    const picture = document.importNode(parsed.documentElement, true) as unknown as SVGSVGElement;
    this.#drawing = drawing;
    // Arrows of wide lines are not larger.
    picture.querySelector("marker")?.setAttribute("markerUnits", "userSpaceOnUse");
    const links = picture.querySelectorAll(".wire > .link");
    if (links.length <= MAX_WIDE_LINKS) for (const link of links) link.before(wide(link));
    for (const element of picture.querySelectorAll(".selected")) element.setAttribute("aria-current", "true");
    this.frame.replaceChildren(picture);
    this.camera.show(picture, drawing.width, drawing.height);
    const now = anchor === null ? undefined : this.box(anchor);
    if (isFirst) this.camera.start(drawing.boxes);
    else if (at !== null && now !== undefined) this.camera.anchor(now, at);
    if (focused !== null) this.focus(focused);
  }

  /** Moves the picture so that an item is visible. */
  reveal(spot: Spot, goal: Goal): void {
    const box = this.box(spot);
    if (box !== undefined) return this.camera.reveal(box, goal);
    const link = this.frame.querySelector<SVGGraphicsElement>(`[data-item="${CSS.escape(spot.item)}"]`);
    if (link === null) return;
    const { x, y, width, height } = link.getBBox();
    this.camera.reveal({ x, y, w: width, h: height }, goal);
  }

  /** The box of an item: the one at its place, or else the first. */
  box(spot: Spot): DrawnBox | undefined {
    const boxes = this.boxes.filter((box) => box.item === spot.item);
    return boxes.find((box) => box.place === spot.place) ?? boxes[0];
  }

  /** Gives a box or link the focus, and the only tab stop of the picture. */
  focus(spot: Spot): void {
    const element = this.#element(this.box(spot) ?? spot);
    if (element === null) return;
    for (const old of this.frame.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
    element.focus({ preventScroll: true });
  }

  /** The box with the focus. */
  get focused(): Spot | null {
    const active = document.activeElement;
    return this.frame.contains(active) ? spotOf(active) : null;
  }

  /** The box `step` after the given one in reading order; the first or last one if there is none. */
  neighbour(spot: Spot | null, step: number): DrawnBox | undefined {
    const boxes = this.boxes;
    const own = spot === null ? undefined : this.box(spot);
    if (own === undefined) return step > 0 ? boxes[0] : boxes.at(-1);
    return boxes[Math.min(Math.max(boxes.indexOf(own) + step, 0), boxes.length - 1)];
  }

  /** Whether a box is expanded; `null` if nothing is inside. */
  isExpanded(spot: Spot): boolean | null {
    return this.box(spot)?.is_expanded ?? null;
  }

  /** Makes lines wide enough to be seen, and draws the titles of groups over a picture that is too small for other texts. */
  #adapt(scale: number): void {
    this.frame.style.setProperty("--hair", `${Math.max(1, MIN_LINE / scale)}px`);
    this.frame.querySelector(".titles")?.remove();
    if (scale >= TEXT_SCALE) return;
    const titles = svg("g", { class: "titles", "aria-hidden": "true" });
    for (const box of this.boxes) {
      if (box.is_expanded === null) continue;
      const text = this.#element(box)?.querySelector(":scope > .title")?.textContent ?? "";
      const size = Math.min(TITLE_SIZE / scale, box.h * 0.7, box.w / (0.65 * Math.max(1, text.length)));
      if (size * scale < MIN_TITLE_SIZE) continue;
      const title = svg("text", { x: String(box.x + size / 4), y: String(box.y + size) });
      title.style.fontSize = `${size}px`;
      title.textContent = text;
      titles.append(title);
    }
    this.frame.querySelector("svg")?.append(titles);
  }

  #element(box: Spot): SVGGElement | null {
    const place = box.place === null ? "" : `[data-place="${CSS.escape(box.place)}"]`;
    return this.frame.querySelector(`[data-item="${CSS.escape(box.item)}"]${place}`);
  }
}

/** An invisible line that is wide enough to be hit by a pointer. */
function wide(link: Element): Node {
  const line = link.cloneNode() as Element;
  line.setAttribute("class", "hit");
  line.removeAttribute("marker-end");
  return line;
}

/** The box or link that contains an element of the picture. */
function spotOf(target: EventTarget | null): Spot | null {
  const element = target instanceof SVGElement ? target.closest("[data-item]") : null;
  const item = element?.getAttribute("data-item");
  return element && item ? { item, place: element.getAttribute("data-place") } : null;
}
