// Calls of this host, and the rule that assigns running code to one of them. An isolate serves one
// call at a time: all that happens while a call is under way belongs to it, also in a queue, a pool
// or an emitter that an earlier call made. Only where the author asked for several calls at a time
// (`calls_per_isolate`) does AsyncLocalStorage decide.
import { AsyncLocalStorage } from "node:async_hooks";

import { giveUp, JSON, later, now, ownText, soon } from "./kept.ts";
import { checked, type Wire } from "./wire.ts";

/** Lines kept of what a call's code says after its end. */
const LATE_LINES_MAX = 100;
/** Most characters of a step's exports that the host sends before the step ends. */
const EXPORTED_MAX = 1 << 20;

/** What code runs in: a call, and in a workflow a step of it. */
export interface Scope {
  readonly call: CallContext;
  readonly namespace?: string | undefined;
}

/** One call under way: its way to the server, and what it must wait for before it is done. */
export class CallContext implements Scope {
  readonly id: number;
  readonly #wire: Wire;
  /** Answers and asks on their way. */
  readonly #pending = new Set<Promise<unknown>>();
  #done = false;
  #lateLines = 0;
  #awaits = false;
  /** The step that is under way, in a workflow. */
  namespace: string | undefined;
  /** JSON text of what the step under way has exported so far. */
  exported: (() => string) | undefined;
  /** Whether the step exported something since the host last sent its exports. */
  hasExported = false;
  #exportedLeft = EXPORTED_MAX;
  /** A frame that waits for the next. */
  #held: string | undefined;
  /** Fails the call from outside its own promise: an error of something it did not await. */
  fail: (error: unknown, namespace: string | undefined) => void = () => {};
  /** The status of an answer that was refused, in words for whoever waits for it; null once one was not. */
  refusedStatus: string | null | undefined;
  /** Takes answers of the server to what this call asked. */
  answered: ((frame: Record<string, unknown>) => void) | undefined;

  constructor(id: number, wire: Wire) {
    this.id = id;
    this.#wire = wire;
  }

  get call(): CallContext {
    return this;
  }

  get done(): boolean {
    return this.#done;
  }

  /** This call; once it is over, the one that is under way in its isolate, if that is known: what earlier calls left behind works for it. */
  get live(): CallContext {
    return this.#done && underWay ? underWay : this;
  }

  /** Sends a frame of this call; nothing after its end. */
  send(frame: Record<string, unknown>): void {
    if (!this.#done) this.#write(ownText({ ...frame, id: this.id }) as string);
  }

  /** Sends a frame whose tail is JSON text already: `tail` is what follows the id. */
  sendText(tail: string): void {
    if (!this.#done) this.#write(`{"id":${this.id},${tail}`);
  }

  /** As `sendText`, but it goes with the next frame: for one that no code of users follows. Writes are what a call costs most. */
  hold(tail: string): void {
    if (this.#done) return;
    const text = `{"id":${this.id},${tail}`;
    // Where it fits no frame it is this step's error, not that of what comes next.
    checked(text);
    if (this.#held !== undefined) this.#wire.sendText(this.#held);
    this.#held = text;
  }

  #write(text: string): void {
    const held = this.#held;
    this.#held = undefined;
    this.#wire.sendText(text, held);
  }

  /** Says, once, that it awaits something. */
  tellAwaits(): void {
    if (this.#awaits) return;
    this.#awaits = true;
    this.send({ t: "awaits" });
  }

  /** Reports that its code has come to its first `await`: events of a source begin in order, so the next one waits for this. */
  tellEntered(): void {
    this.sendText(`"t":"entered"}`);
  }

  /** Tells what the step under way has exported, where that is new: it may never come to its end. */
  tellExported(): void {
    if (!this.hasExported || !this.exported || this.namespace === undefined) return;
    this.hasExported = false;
    const text = this.exported();
    this.#exportedLeft -= text.length;
    if (this.#exportedLeft >= 0) this.sendText(`"t":"step","namespace":${JSON.stringify(this.namespace)},"state":"exported","exports":${text}}`);
  }

  /** Whether the host sent exports of the step under way. */
  get toldExported(): boolean {
    return this.#exportedLeft < EXPORTED_MAX;
  }

  /** A step begins. */
  enter(namespace: string, exported: () => string): void {
    this.namespace = namespace;
    this.exported = exported;
    this.hasExported = false;
    this.#exportedLeft = EXPORTED_MAX;
  }

  /** A line of output. After the end it still belongs to this call. */
  log(level: string, text: string): void {
    if (this.#done && this.#lateLines++ >= LATE_LINES_MAX) return;
    const late = this.#done ? `,"late":true` : "";
    this.#write(`{"id":${this.id},"t":"log","level":"${level}","text":${JSON.stringify(text)},"ts":${now()}${late}}`);
  }

  /** The call is not over before this has settled. Whoever holds the promise deals with its failure. */
  track(promise: Promise<unknown>): void {
    const settled: Promise<unknown> = promise.then(
      () => this.#pending.delete(settled),
      () => this.#pending.delete(settled),
    );
    this.#pending.add(settled);
  }

  get waits(): boolean {
    return this.#pending.size > 0;
  }

  /** Waits for what is on its way, also for what that starts. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Ends the call; `tail` is JSON text of the frame's fields and its closing brace. */
  finish(tail: string): void {
    if (this.#done) return;
    this.sendText(`"t":"done",${tail}`);
    this.#done = true;
  }

  /** The server no longer waits: what the code still does goes nowhere. */
  abandon(): void {
    this.#held = undefined;
    this.#done = true;
  }
}

export const calls = new AsyncLocalStorage<Scope>();

/** Whether calls come one at a time. */
let oneCall = false;
/** The call that is under way, where they do. */
let underWay: CallContext | undefined;
/** The call that ended last, where they do: what goes on between two calls belongs to it. */
let latest: CallContext | undefined;

export function serveOneCall(): void {
  oneCall = true;
}

export const servesOneCall = (): boolean => oneCall;

/** From now on, until `over`, what happens belongs to this call. */
export function begin(call: CallContext): void {
  if (oneCall) underWay = call;
}

export function over(call: CallContext): void {
  if (underWay !== call) return;
  underWay = undefined;
  latest = call;
}

/** What the running code belongs to. */
export function scope(): Scope | undefined {
  const stored = calls.getStore();
  if (!underWay) return stored ?? latest;
  return stored?.call === underWay ? stored : underWay;
}

/** What a rejected promise that nobody handles belongs to: the call that made it, also where that is over. */
export function scopeOfRejection(): Scope | undefined {
  return calls.getStore() ?? scope();
}

const { getActiveResourcesInfo } = process as unknown as { getActiveResourcesInfo?: () => string[] };
/** How often it is looked whether what a call left running has ended, milliseconds, and how many times. */
const LOOK_EVERY = 5;
const LOOKS_MAX = 200;

/** Timers, requests and connections that keep the event loop going. */
const active = (): number => getActiveResourcesInfo?.().length ?? 0;

/** Tells whether a call left something running beyond what there was when it began. */
export function leavesRunning(): () => boolean {
  if (!oneCall) return () => false;
  const before = active();
  return () => active() > before;
}

/** Says once what a call left running has ended, or that it goes on for long and the next call may begin beside it. */
export function whenQuiet(goesOn: () => boolean, quiet: () => void): void {
  let looks = 0;
  const look = (): void => {
    if (++looks < LOOKS_MAX && goesOn()) later(look, LOOK_EVERY).unref();
    else quiet();
  };
  later(look, LOOK_EVERY).unref();
}

let ending: (() => void)[] | undefined;

/**
 * Ends a call after a turn of the event loop: by then rejections that nobody handles have been told. Calls that end in
 * the same turn share a write. `after` comes behind that write, where code of users may run.
 */
export function atTurn(wire: Wire, end: () => void, after: () => void): void {
  if (ending) {
    ending.push(end);
    return;
  }
  ending = [end];
  soon(() => {
    try {
      const ends = ending ?? [];
      ending = undefined;
      wire.together(() => {
        for (let at = 0; at < ends.length; at++) ends[at]!();
      });
      after();
    } catch (error) {
      // A call that is not ended would keep the next from its beginning.
      giveUp(error);
    }
  });
}
