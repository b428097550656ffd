// Which call the running code belongs to.
import { AsyncLocalStorage } from "node:async_hooks";

import type { Wire } from "./wire.ts";

/** One call under way: its way to the server, and what it must wait for before it is done. */
export class CallContext {
  readonly id: number;
  readonly #wire: Wire;
  /** Answers and emits that are still being prepared. */
  readonly pending: Promise<unknown>[] = [];
  #done = false;
  /** Fails the call from outside its own promise: an error of something it did not await. */
  fail: (error: unknown) => void = () => {};

  constructor(id: number, wire: Wire) {
    this.id = id;
    this.#wire = wire;
  }

  get done(): boolean {
    return this.#done;
  }

  /** Sends a frame of this call; nothing after its end. */
  send(frame: Record<string, unknown>): void {
    if (!this.#done) this.#wire.send({ ...frame, id: this.id });
  }

  /** Sends a frame whose tail is JSON text already: `head` is JSON text of an object's beginning without the id. */
  sendText(head: string): void {
    if (!this.#done) this.#wire.sendText(`{"id":${this.id},${head}`);
  }

  finish(frame: Record<string, unknown>): void {
    if (this.#done) return;
    this.send({ t: "done", ...frame });
    this.#done = true;
  }
}

export const calls = new AsyncLocalStorage<CallContext>();
