// Copies of the picture and of texts.

import type { File } from "./answers";
import { make } from "./dom";
import { graphStyle, type Theme } from "./theme";

/** Maximum width or height of a PNG, and its maximum number of pixels: limits of browsers. */
const MAX_SIDE = 16_000;
const MAX_PIXELS = 1 << 26;

/** Offers a file to the reader. */
export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function svgBlob(svg: string): Blob {
  return new Blob([svg], { type: "image/svg+xml" });
}

/** A picture as pixels, two for each unit if browsers allow as many. */
export async function pngBlob({ svg, width, height }: File, theme: Theme): Promise<Blob> {
  // A parsed style would have to be allowed by the policy of the page.
  const text = svg.replace(/(?<=<style>)[^<]*/, () => graphStyle(theme));
  const scale = Math.min(2, MAX_SIDE / Math.max(width, height), Math.sqrt(MAX_PIXELS / (width * height)));
  const canvas = make("canvas");
  canvas.width = Math.max(1, Math.floor(width * scale));
  canvas.height = Math.max(1, Math.floor(height * scale));
  const image = new Image();
  const address = URL.createObjectURL(svgBlob(text));
  try {
    image.src = address;
    await image.decode();
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  } finally {
    URL.revokeObjectURL(address);
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("the picture is too large")) : resolve(blob)), "image/png");
  });
}

/** Copies a text; returns whether the browser allows it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Frames, such as those of notebooks, must not use the clipboard.
    if (self !== top) throw new DOMException("", "NotAllowedError");
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages of files have no clipboard in some browsers.
    const area = make("textarea", { readonly: "", class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}
