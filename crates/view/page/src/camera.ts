// The visible part of the picture: pan, zoom, and the level of detail.

/** A rectangle in coordinates of the picture. */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** The position of an area that was not visible before: in the center, or as near to the old position as possible. */
export type Goal = "center" | "edge";

interface Point {
  readonly x: number;
  readonly y: number;
}

const MIN_SCALE = 0.02;
const MAX_SCALE = 4;
/** Below this scale texts are too small to read, and only titles of large groups are drawn. */
export const TEXT_SCALE = 0.3;
/** Below this scale labels of edges are not drawn. */
const LABEL_SCALE = 0.5;
/** The scale for texts that are to be read. */
const READING_SCALE = 0.8;
/** The distance of an area that is made visible to the border of the frame, in pixels. */
const MARGIN = 48;
/** Movement of a pointer that is no click, in pixels. */
const CLICK_DISTANCE = 4;

export class Camera {
  readonly #frame: HTMLElement;
  #picture: SVGSVGElement | null = null;
  #size = { w: 1, h: 1 };
  #scale = 1;
  #x = 0;
  #y = 0;
  #isQueued = false;
  #idle = 0;
  readonly #pointers = new Map<number, Point>();
  #moved = 0;

  readonly #settled: (scale: number) => void;

  /** `settled` is called after the scale has changed, and for each new picture. */
  constructor(frame: HTMLElement, settled: (scale: number) => void) {
    this.#frame = frame;
    this.#settled = settled;
    frame.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.#down(event));
    frame.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"] as const) {
      frame.addEventListener(end, (event) => this.#pointers.delete(event.pointerId));
    }
    // A drag is no click.
    frame.addEventListener("click", (event) => this.#moved > CLICK_DISTANCE && event.stopPropagation(), true);
  }

  /** Shows a picture of the given size. */
  show(picture: SVGSVGElement, w: number, h: number): void {
    this.#picture = picture;
    this.#size = { w, h };
    this.#queue();
  }

  /** Makes the whole picture visible, up to its natural size. */
  fit(): void {
    const { clientWidth, clientHeight } = this.#frame;
    const { w, h } = this.#size;
    const scale = Math.min(clientWidth / w, clientHeight / h, 1);
    this.#scale = clamp(scale, MIN_SCALE, MAX_SCALE);
    this.#x = (clientWidth - w * this.#scale) / 2;
    this.#y = Math.max(0, (clientHeight - h * this.#scale) / 2);
    this.#queue();
  }

  /** Shows the whole picture, or its first areas at a scale at which texts can be read. */
  start(areas: readonly Area[]): void {
    this.fit();
    if (this.#scale >= LABEL_SCALE) return;
    this.#scale = READING_SCALE;
    const { clientWidth, clientHeight } = this.#frame;
    const top = Math.min(...areas.map(({ y }) => y));
    const first = areas.filter(({ y }) => (y - top) * this.#scale < clientHeight / 2);
    const left = Math.min(...first.map(({ x }) => x));
    const right = Math.max(...first.map(({ x, w }) => x + w));
    this.#x = clientWidth / 2 - ((left + right) / 2) * this.#scale;
    this.#y = MARGIN - top * this.#scale;
  }

  /** Zooms around the center of the frame. */
  zoom(factor: number): void {
    this.#zoomAt({ x: this.#frame.clientWidth / 2, y: this.#frame.clientHeight / 2 }, factor);
  }

  /** Moves the picture by a number of pixels. */
  pan(x: number, y: number): void {
    this.#x += x;
    this.#y += y;
    this.#queue();
  }

  /** Makes an area visible; in the center, also at a scale at which it can be read. */
  reveal(area: Area, goal: Goal): void {
    if (this.#scale < LABEL_SCALE && goal === "center") {
      const center = this.toFrame({ x: area.x + area.w / 2, y: area.y + area.h / 2 });
      this.#zoomAt(center, READING_SCALE / this.#scale);
    }
    const { clientWidth, clientHeight } = this.#frame;
    const at = this.toFrame(area);
    this.pan(
      shift(at.x, area.w * this.#scale, clientWidth, goal),
      shift(at.y, area.h * this.#scale, clientHeight, goal),
    );
  }

  /** Moves the picture so that a point of it is at a point of the frame. */
  anchor(point: Point, at: Point): void {
    const now = this.toFrame(point);
    this.pan(at.x - now.x, at.y - now.y);
  }

  /** The position of a point of the picture in the frame. */
  toFrame(point: Point): Point {
    return { x: this.#x + point.x * this.#scale, y: this.#y + point.y * this.#scale };
  }

  #zoomAt(point: Point, factor: number): void {
    const scale = clamp(this.#scale * factor, MIN_SCALE, MAX_SCALE);
    const change = scale / this.#scale;
    this.#x = point.x - (point.x - this.#x) * change;
    this.#y = point.y - (point.y - this.#y) * change;
    this.#scale = scale;
    this.#queue();
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      const bounds = this.#frame.getBoundingClientRect();
      const point = { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
      this.#zoomAt(point, Math.exp(-event.deltaY * unit * (event.deltaMode === 0 ? 0.005 : 0.02)));
    } else if (event.shiftKey && event.deltaX === 0) {
      this.pan(-event.deltaY * unit, 0);
    } else {
      this.pan(-event.deltaX * unit, -event.deltaY * unit);
    }
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    if (this.#pointers.size === 0) this.#moved = 0;
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  #move(event: PointerEvent): void {
    const old = this.#pointers.get(event.pointerId);
    if (old === undefined) return;
    const point = { x: event.clientX, y: event.clientY };
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, point);
    this.#moved += Math.hypot(point.x - old.x, point.y - old.y);
    if (this.#moved > CLICK_DISTANCE && !this.#frame.hasPointerCapture(event.pointerId)) {
      this.#frame.setPointerCapture(event.pointerId);
    }
    if (other === undefined) {
      this.pan(point.x - old.x, point.y - old.y);
      return;
    }
    const bounds = this.#frame.getBoundingClientRect();
    const center = { x: (point.x + other.x) / 2 - bounds.left, y: (point.y + other.y) / 2 - bounds.top };
    const [now, before] = [distance(point, other), distance(old, other)];
    this.pan((point.x - old.x) / 2, (point.y - old.y) / 2);
    if (before > 0) this.#zoomAt(center, now / before);
  }

  #queue(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    requestAnimationFrame(() => {
      this.#isQueued = false;
      this.#apply();
    });
  }

  #apply(): void {
    const picture = this.#picture;
    if (picture === null) return;
    picture.style.transform = `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})`;
    this.#frame.classList.toggle("no-text", this.#scale < TEXT_SCALE);
    this.#frame.classList.toggle("no-labels", this.#scale < LABEL_SCALE);
    // While it moves, the browser moves the picture as an image; then it is drawn again at the new scale.
    picture.style.willChange = "transform";
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      picture.style.willChange = "";
      this.#settled(this.#scale);
    }, 150);
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The shift that brings a range into a window; the start of a range that is too long. */
function shift(from: number, length: number, window: number, goal: Goal): number {
  const space = window - length - 2 * MARGIN;
  if (space < 0) return MARGIN - from;
  const isVisible = from >= MARGIN && from + length <= window - MARGIN;
  if (isVisible) return 0;
  if (goal === "center") return (window - length) / 2 - from;
  return from < MARGIN ? MARGIN - from : window - MARGIN - length - from;
}
