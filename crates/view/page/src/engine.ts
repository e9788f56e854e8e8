// The engine: a WebAssembly module that holds the scene and answers requests.

import type { Answers, Failure, Request } from "./answers";
import { byId } from "./dom";

type Ask = keyof Answers;
type RequestOf<A extends Ask> = Extract<Request, { ask: A }>;

/** The functions of `crates/view/src/engine/wasm.rs`. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  page_reserve(size: number): number;
  page_open(): number;
  page_answer(): number;
  page_address(): number;
  page_length(): number;
}

/** An answer of the engine to a request that it cannot serve. */
export class EngineError extends Error {}

export class Engine {
  readonly #exports: Exports;

  private constructor(exports: Exports) {
    this.#exports = exports;
  }

  /** Starts the engine of the page with its scene. */
  static async start(): Promise<Engine> {
    const [code, scene] = await Promise.all([inflate("engine"), inflate("scene")]);
    const { instance } = await WebAssembly.instantiate(code);
    const engine = new Engine(instance.exports as unknown as Exports);
    engine.#write(scene);
    if (engine.#exports.page_open() !== 1) throw new EngineError(engine.#read());
    return engine;
  }

  /** Answers a request. */
  ask<A extends Ask>(request: RequestOf<A>): Answers[A] {
    this.#write(new TextEncoder().encode(JSON.stringify(request)));
    this.#exports.page_answer();
    const answer = JSON.parse(this.#read()) as Answers[A] | Failure;
    // The results of a search have the error of their query.
    if ("error" in answer && !("total" in answer)) throw new EngineError(answer.error);
    return answer as Answers[A];
  }

  #write(bytes: Uint8Array): void {
    const address = this.#exports.page_reserve(bytes.length);
    if (address === 0) throw new EngineError("there is not enough memory");
    new Uint8Array(this.#exports.memory.buffer, address, bytes.length).set(bytes);
  }

  #read(): string {
    const { memory, page_address, page_length } = this.#exports;
    return new TextDecoder().decode(new Uint8Array(memory.buffer, page_address(), page_length()));
  }
}

/** The bytes of an element with base64 of a zlib stream. */
async function inflate(id: string): Promise<Uint8Array<ArrayBuffer>> {
  const element = byId(id);
  const text = atob(element.textContent ?? "");
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  // The text is not needed again, and is most of the document.
  element.textContent = "";
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
