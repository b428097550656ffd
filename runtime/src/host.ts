// Program that runs inside a host. It reads calls off the wire and answers them; see PROTOCOL.md.
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { setEnvironmentData } from "node:worker_threads";

import { atTurn, begin, CallContext, calls, leavesRunning, over, type Scope, scope, scopeOfRejection, serveOneCall, servesOneCall, whenQuiet } from "./context.ts";
import { describe } from "./describe.ts";
import { dollar } from "./dollar.ts";
import { FlowExit, showAsTmp, wireError } from "./errors.ts";
import { leadHosted } from "./hosted.ts";
import { isA } from "./instances.ts";
import { deleteFrom, giveUp, JSON, later, ownText, soon } from "./kept.ts";
import { boundReads, loadModules, moduleOf, sourcesOf } from "./load.ts";
import { captureLogs, logHost } from "./logs.ts";
import { mirrorInto } from "./mirror.ts";
import { runAdditionalProps, runOptions } from "./options.ts";
import { builtInsReplaced, keepBuiltIns } from "./replaced.ts";
import { runSource } from "./source.ts";
import { leadTmp, OWN_TMP } from "./tmp.ts";
import type { Bag, CallFrame } from "./types.ts";
import { Wire } from "./wire.ts";
import { type Ending, exportsText, recordReturned, runAction, runWorkflow, StepFailure } from "./workflow.ts";

const wire = new Wire();
const underWay = new Map<number, CallContext>();
/** Calls that the server gave ahead, in their order: each begins once the one before has ended and left nothing running. */
const ahead: { frame: CallFrame; text: string }[] = [];
const listenersOf = process.listeners.bind(process) as (event: string) => unknown[];
/** What the call that ended last started goes on. */
let leftRunning = false;
/** A call left built-ins replaced: no further call begins here, and the process ends with the last one that is under way. */
let leaves = false;
/** Runs what it is given in the context that there was before any call. */
const inNoCall = AsyncLocalStorage.snapshot();

async function load(frame: Bag): Promise<void> {
  try {
    Object.assign(process.env, frame["env"]);
    const tmp = String(frame["tmp"]);
    showAsTmp(tmp);
    leadTmp(tmp);
    setEnvironmentData(OWN_TMP, tmp);
    mirrorInto(tmp);
    // Programs look there for their own name: the path of this file is the server's.
    process.argv[1] = "/tmp/component.mjs";
    const modules = frame["modules"] as { name: string; path: string }[];
    const sources = sourcesOf(modules, (folder) => existsSync(join(folder, "node_modules")));
    if (!sources) boundReads();
    leadHosted(sources);
    if (frame["one_call"] === true) serveOneCall();
    await loadModules(modules);
    keepBuiltIns();
    wire.send({ t: "loaded" });
  } catch (error) {
    wire.send({ t: "load_failed", error: wireError(error) });
  }
}

/** JSON text of what a call gives: the fields of its `done` frame after `ok`. */
async function answer(frame: CallFrame, text: string, call: CallContext): Promise<string> {
  switch (frame.kind) {
    case "workflow":
      return endingText(await runWorkflow(frame, text, call));
    case "source":
      return `"result":${shownText(await runSource(moduleOf(frame["module"]), frame, call))}`;
    case "action":
      return `"result":${await loneAction(frame, call)}`;
    case "describe":
      return resultText(describe(moduleOf(frame["module"])));
    case "options":
      return resultText(await runOptions(moduleOf(frame["module"]), frame, call));
    case "additional_props":
      return resultText(await runAdditionalProps(moduleOf(frame["module"]), frame, call));
    default:
      throw new Error(`a call of the unknown kind ${String(frame.kind)}`);
  }
}

async function loneAction(frame: CallFrame, call: CallContext): Promise<string> {
  const namespace = "action";
  const context = (frame["context"] ?? {}) as Bag;
  const $ = dollar(() => context, { call, workflow: false, test: false, urls: {}, deadline: Date.now() + frame.deadline_ms }, namespace);
  const returned = await runAction(String(frame["module"]), (frame["props"] ?? {}) as Bag, {}, $, namespace, call, frame["dynamic_props"]);
  recordReturned($, returned, namespace);
  return exportsText($.exports);
}

const resultText = (result: unknown): string => `"result":${JSON.stringify(result) ?? "null"}`;

function endingText(ending: Ending | undefined): string {
  if (!ending) return `"result":null`;
  if (ending.exit !== undefined) return `"result":null,"exit":{"reason":${JSON.stringify(ending.exit)}}`;
  const { exports, ...paused } = ending.paused as NonNullable<Ending["paused"]>;
  const tail = exports === undefined ? "" : `,"exports":${exports}`;
  return `"result":null,"paused":${(ownText(paused) as string).slice(0, -1)}${tail}}`;
}

/** A source's return value is only shown: where it is no JSON it is left out. */
function shownText(result: unknown): string {
  if (result === undefined) return "null";
  try {
    return JSON.stringify(result) ?? "null";
  } catch {
    return "null";
  }
}

/** Characters of a failed step's exports that go with its error; these fit a frame, whatever they are. */
const EXPORTS_MAX = 4 << 20;

function failure(call: CallContext, error: unknown, namespace?: string): string {
  const known = isA(error, StepFailure);
  const step = known ? error.namespace : namespace;
  const exports = step !== undefined && step === call.namespace ? (call.exported?.() ?? "{}") : "{}";
  const tail = `${step === undefined ? "" : `,"namespace":${JSON.stringify(step)}`}${(exports === "{}" && !call.toldExported) || exports.length > EXPORTS_MAX ? "" : `,"exports":${exports}`}`;
  return `"ok":false,"error":${ownText(wireError(known ? error.error : error))}${tail}}`;
}

/** How often it is looked which calls await something, milliseconds. */
const AWAITS_LOOK = 6;
/** Calls that were under way at the last look; none: there is no next one. */
let looked: Set<CallContext> | undefined;

/** Calls that were under way at two looks say that they await something, and what they exported: one that awaits nothing has ended before any timer comes, however busy the machine is. */
function lookWhoAwaits(): void {
  const before = looked;
  looked = undefined;
  if (underWay.size === 0) return;
  for (const call of underWay.values()) {
    if (!before?.has(call)) continue;
    call.tellAwaits();
    call.tellExported();
    giveBack();
  }
  watchAwaits(new Set(underWay.values()));
}

/** One timer for all calls, and none while there is no call: a timer for each would cost a tenth of a short call. */
function watchAwaits(seen: Set<CallContext>): void {
  if (looked) return;
  looked = seen;
  later(lookWhoAwaits, AWAITS_LOOK).unref();
}

async function perform(frame: CallFrame, text: string, call: CallContext): Promise<void> {
  try {
    begin(call);
    const goesOn = leavesRunning();
    call.fail = (error, namespace) => {
      end(call, failure(call, error, namespace), goesOn);
    };
    try {
      const answered = await answer(frame, text, call);
      if (call.waits) await call.settled();
      // What nobody awaited and has failed by then fails the run.
      atTurn(wire, () => end(call, `"ok":true,${answered}}`, goesOn, () => {}), beginNext);
    } catch (error) {
      end(call, failure(call, error), goesOn);
    }
  } catch (error) {
    giveUp(error);
  }
}

const LEFT_REPLACED = "the code left a built-in function replaced, such as `Array.prototype.push`, or took away the listeners of errors: its process ends with this run, and the next run begins in a new one; put the function back, or replace it while the module loads";

/** Ends a call. The next one of an isolate that serves one at a time begins once what this one started has ended: `next` begins it. */
function end(call: CallContext, tail: string, goesOn: () => boolean, next = () => void soon(beginNext)): void {
  if (call.done) return;
  if (!leaves && (builtInsReplaced() || handlersRemoved())) {
    leaves = true;
    call.log("warn", LEFT_REPLACED);
  }
  const left = leaves || goesOn();
  const mark = left ? `"left_running":true,` : "";
  try {
    call.finish(mark + tail);
  } catch (error) {
    // It fits no frame.
    call.finish(mark + failure(call, error));
  }
  deleteFrom(underWay, call.id);
  over(call);
  if (leaves) return leave();
  if (!left) {
    if (ahead.length > 0) next();
    return;
  }
  leftRunning = true;
  giveBack();
  whenQuiet(goesOn, () => {
    leftRunning = false;
    wire.send({ t: "quiet" });
  });
}

/** To the server it is a call that left something running: it gives no other one, until the process is gone. */
function leave(): void {
  leftRunning = true;
  if (underWay.size > 0) return;
  try {
    giveBack();
  } finally {
    wire.leave();
  }
}

function take(frame: CallFrame, text: string): void {
  if (!servesOneCall() || (underWay.size === 0 && ahead.length === 0 && !leftRunning)) return start(frame, text);
  ahead.push({ frame, text });
  // The server sent it before it knew.
  if (leftRunning) giveBack();
}

/** Begins the call that is ahead, where none is under way. */
function beginNext(): void {
  const next = underWay.size === 0 && !leftRunning ? ahead.shift() : undefined;
  if (next) start(next.frame, next.text);
}

/** Gives calls back that have not begun: another host may begin them sooner. */
function giveBack(): void {
  for (const { frame } of ahead.splice(0)) wire.send({ t: "back", id: frame.id });
}

/** Gives one call back, where it has not begun: nobody waits for it any more. */
function giveOneBack(id: number): void {
  const position = ahead.findIndex(({ frame }) => frame.id === id);
  if (position < 0) return;
  ahead.splice(position, 1);
  wire.send({ t: "back", id });
}

function start(frame: CallFrame, text: string): void {
  const call = new CallContext(frame.id, wire);
  underWay.set(call.id, call);
  watchAwaits(new Set());
  // In a context of its own: `enterWith` of one call is not seen by the next.
  inNoCall(() => new AsyncResource("Call").runInAsyncScope(() => calls.run(call, () => void perform(frame, text, call))));
}

function onFrame(frame: Bag, text: string): void {
  switch (frame["t"]) {
    case "load":
      void load(frame);
      break;
    case "call":
      take(frame as CallFrame, text);
      break;
    case "answer":
      underWay.get(frame["id"] as number)?.answered?.(frame);
      break;
    case "cancel":
      abandon(frame["id"] as number);
      wire.send({ t: "cancelled", id: frame["id"] });
      break;
    case "back":
      giveOneBack(frame["id"] as number);
      break;
  }
}

function abandon(id: number): void {
  const call = underWay.get(id);
  if (!call) return;
  call.abandon();
  underWay.delete(id);
  over(call);
}

/** An error that nobody awaited, and what it belongs to, which may be over. */
function stray(error: unknown, belongsTo: () => Scope | undefined): void {
  try {
    assign(error, belongsTo());
  } catch (failed) {
    giveUp(failed);
  }
}

function onException(error: unknown): void {
  stray(error, scope);
}

function onRejection(error: unknown): void {
  stray(error, scopeOfRejection);
}

/** Whether code took them away, as `process.removeAllListeners()` does: the error of a later call would end the process untold. They are put back for what is under way. */
function handlersRemoved(): boolean {
  const hasException = listenersOf("uncaughtException").includes(onException);
  const hasRejection = listenersOf("unhandledRejection").includes(onRejection);
  if (!hasException) process.on("uncaughtException", onException);
  if (!hasRejection) process.on("unhandledRejection", onRejection);
  return !hasException || !hasRejection;
}

function assign(error: unknown, of: Scope | undefined): void {
  if (!of) return logHost(error);
  const { call, namespace } = of;
  // The step looks whether exit was called when it ends.
  if (isA(error, FlowExit)) return;
  if (!call.done) return call.fail(error, namespace);
  const { stack } = wireError(error);
  call.log("error", `after the end of the run, in what it did not await${namespace === undefined ? "" : ` in the step \`${namespace}\``}: ${stack}`);
}

// Code finds no main module, as where an ES module is one: packages ask it where the program lies.
process.mainModule = undefined;
delete require.cache[__filename];

captureLogs();
process.exit = ((code?: number) => {
  throw new Error(`process.exit(${code ?? ""}) was called: code that runs here cannot end the process; return or throw instead`);
}) as typeof process.exit;
process.on("uncaughtException", onException);
process.on("unhandledRejection", onRejection);
wire.start(onFrame);
wire.send({ t: "hello", protocol: 1, node: process.version });
// The first import makes Node's loader of modules: better while nothing waits for it. A host of a test has no such file.
setImmediate(() => void import(pathToFileURL(join(dirname(__filename), "first.mjs")).href).catch(() => {}));
