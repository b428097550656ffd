// Requests to the server that code waits for: data stores, starting a workflow.
import type { CallContext } from "./context.ts";
import { jsonText } from "./errors.ts";
import type { Bag } from "./types.ts";

/** Asks of one call that may be unanswered; further ones wait here. */
const ASKS_MAX = 100;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

class Asks {
  readonly #call: CallContext;
  readonly #open = new Map<number, Waiting>();
  readonly #queue: { text: string; waiting: Waiting }[] = [];
  #last = 0;

  constructor(call: CallContext) {
    this.#call = call;
    call.answered = (frame) => this.#answered(frame);
  }

  ask(kind: string, payload: Bag): Promise<unknown> {
    if (this.#call.done) return Promise.reject(new Error(`${kind} was asked for after the run had ended; it is not done`));
    const text = `"kind":"${kind}","payload":${jsonText(payload, `what ${kind} is given`) ?? "{}"}}`;
    const answer = new Promise<unknown>((resolve, reject) => {
      const waiting = { resolve, reject };
      if (this.#open.size >= ASKS_MAX) this.#queue.push({ text, waiting });
      else this.#send(text, waiting);
    });
    this.#call.track(answer);
    return answer;
  }

  #send(text: string, waiting: Waiting): void {
    const ask = ++this.#last;
    this.#open.set(ask, waiting);
    this.#call.sendText(`"t":"ask","ask":${ask},${text}`);
  }

  #answered(frame: Bag): void {
    const ask = frame["ask"] as number;
    const waiting = this.#open.get(ask);
    if (!waiting) return;
    this.#open.delete(ask);
    const next = this.#queue.shift();
    if (next) this.#send(next.text, next.waiting);
    if (frame["ok"] === true) waiting.resolve(frame["value"]);
    else waiting.reject(refusal(frame["error"]));
  }
}

function refusal(error: unknown): Error {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return Object.assign(new Error(String(message ?? "the server refused")), { name: String(code ?? "Error") });
}

const asksOf = new WeakMap<CallContext, Asks>();

export function ask(of: CallContext, kind: string, payload: Bag): Promise<unknown> {
  const call = of.live;
  let asks = asksOf.get(call);
  if (!asks) {
    asks = new Asks(call);
    asksOf.set(call, asks);
  }
  return asks.ask(kind, payload);
}
