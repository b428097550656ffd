// V8 flags at their defaults while Node's own modules load: V8 accepts the compiled code that Node
// ships only under the flags it was compiled with, and a host is started with others (its heap).
// Else each of these modules is compiled anew, half of the cost of a small cold run.
type SetFlags = (flag: string) => void;

/** Flags of V8 that hosts are started with, and the values that V8 has without them. The heap of this thread is made by now and keeps its size. */
const DEFAULTS: Record<string, string> = { "--max-old-space-size": "0" };

const name = (flag: string): string => flag.slice(0, flag.indexOf("="));

/** `v8.setFlagsFromString` without the module `v8`, which brings streams. */
function setFlags(): SetFlags {
  const warned = process.noDeprecation;
  process.noDeprecation = true;
  try {
    const { setFlagsFromString } = (process as unknown as { binding(name: string): { setFlagsFromString?: SetFlags } }).binding("v8");
    if (setFlagsFromString) return setFlagsFromString;
  } catch {
    // A Node without it.
  } finally {
    process.noDeprecation = warned;
  }
  return (require("node:v8") as typeof import("node:v8")).setFlagsFromString;
}

const given = process.execArgv.filter((arg) => name(arg) in DEFAULTS);
const set = given.length > 0 ? setFlags() : undefined;

// Before anything else is loaded. Flags are of the whole process: a thread that took them back might do so while another one's heap is made.
const isThread = (process.chdir as { disabled?: boolean }).disabled === true;
if (!isThread) for (const flag of given) set?.(`${name(flag)}=${DEFAULTS[name(flag)]}`);

/** A worker gets the heap that the host was started with: from its start on, the flags are as they were given. */
export function keepHeapOfWorkers(): void {
  const threads = require("node:worker_threads") as { Worker: new (...args: unknown[]) => object };
  if (!set) return;
  threads.Worker = new Proxy(threads.Worker, {
    construct(target, args, asked) {
      for (const flag of given) set(flag);
      return Reflect.construct(target, args, asked) as object;
    },
  });
}
