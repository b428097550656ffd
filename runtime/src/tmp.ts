// `/tmp` as a folder of the host's own. Components name it literally, and a process without
// privileges cannot be given another root: the file functions lead paths below /tmp there, in each
// thread. A convenience, not a wall: the kernel refuses the machine's /tmp.
import fs from "node:fs";
import Module, { syncBuiltinESMExports } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { types } from "node:util";
import threads from "node:worker_threads";

/** The data of all threads (`setEnvironmentData`) under which the main thread names the folder. */
export const OWN_TMP = "millrace:tmp";

type AnyFunction = (...args: unknown[]) => unknown;

/** How many leading arguments of a function are paths; what is not named here has one. */
const PATHS: Record<string, number> = { copyFile: 2, cp: 2, link: 2, rename: 2, symlink: 2 };
const ONE_PATH =
  "access appendFile chmod chown createReadStream createWriteStream exists lchown lstat lutimes mkdir mkdtemp open openAsBlob opendir readFile readdir readlink realpath rm rmdir stat statfs truncate unlink unwatchFile utimes watch watchFile writeFile".split(
    " ",
  );

function leading(own: string): (path: unknown) => unknown {
  // Where the server keeps its data below /tmp, the host's folder and the code in it are there too: Node itself reads them.
  const around = `${dirname(own)}/`;
  return (path) => {
    const text = path instanceof URL && path.protocol === "file:" ? fileURLToPath(path) : Buffer.isBuffer(path) ? path.toString() : path;
    if (typeof text !== "string" || (text !== "/tmp" && !text.startsWith("/tmp/"))) return path;
    return text.startsWith(around) ? path : own + text.slice(4);
  };
}

/** Their last argument is given no error, or is known again by what it is. */
const NO_CALLBACK = new Set(["exists", "unwatchFile", "watch", "watchFile"]);

/** Gives an error the names that code knows: Node's has those of the folder that a path was led to. */
function naming(own: string): (error: unknown) => unknown {
  return (error) => {
    if (error === null || typeof error !== "object") return error;
    const fields = error as Record<string, unknown>;
    for (const name of ["message", "path", "dest"]) {
      const text = fields[name];
      if (typeof text === "string" && text.includes(own)) fields[name] = text.replaceAll(own, "/tmp");
    }
    return error;
  };
}

/** Leads /tmp to `own` in all functions of this thread's `fs`. */
export function leadTmp(own: string): void {
  const lead = leadingImports(leading(own));
  const named = naming(own);
  const wrap = (target: Record<string, unknown>, name: string, paths: number) => {
    const original = target[name];
    if (typeof original !== "function") return;
    const led = function (this: unknown, ...args: unknown[]) {
      for (let n = 0; n < paths && n < args.length; n++) args[n] = lead(args[n]);
      const last = args.length - 1;
      const callback = args[last];
      if (typeof callback === "function" && !NO_CALLBACK.has(name)) {
        args[last] = function (this: unknown, error: unknown, ...more: unknown[]) {
          return (callback as AnyFunction).apply(this, [named(error), ...more]);
        };
      }
      try {
        const given = (original as AnyFunction).apply(this, args);
        if (!types.isPromise(given)) return given;
        return given.then(undefined, (error: unknown) => {
          throw named(error);
        });
      } catch (error) {
        throw named(error);
      }
    };
    // `realpath.native`, `promisify.custom`, name and length stay.
    Object.defineProperties(led, Object.getOwnPropertyDescriptors(original));
    target[name] = led;
  };
  for (const name of [...ONE_PATH, ...Object.keys(PATHS)]) {
    const paths = PATHS[name] ?? 1;
    wrap(fs as unknown as Record<string, unknown>, name, paths);
    wrap(fs as unknown as Record<string, unknown>, `${name}Sync`, paths);
    wrap(fs.promises as unknown as Record<string, unknown>, name, paths);
  }
  leadCwd(own, lead, named);
  leadLoading(lead);
  syncBuiltinESMExports();
}

const CODE = /\.[cm]?[jt]s$/;

interface Hooks {
  resolve: (asked: string, context: { conditions: string[] }, next: (asked: string, context: unknown) => unknown) => unknown;
}

/**
 * `import` of what lies below /tmp leads there as well, whatever asks for it, from the first time that code names a file of code there.
 * Only where Node has hooks within the thread (22.15): its older ones cost a thread and much memory.
 */
function leadingImports(lead: (path: unknown) => unknown): (path: unknown) => unknown {
  let { registerHooks } = Module as unknown as { registerHooks?: (hooks: Hooks) => void };
  const resolve: Hooks["resolve"] = (asked, context, next) => {
    const url = context.conditions.includes("import") && URL.canParse(asked, "file:///") ? new URL(asked, "file:///") : undefined;
    const led = url ? lead(url) : url;
    return next(url && typeof led === "string" ? pathToFileURL(led).href + url.search + url.hash : asked, context);
  };
  return (path) => {
    const led = lead(path);
    if (registerHooks && led !== path && CODE.test(String(led))) {
      registerHooks({ resolve });
      registerHooks = undefined;
    }
    return led;
  };
}

/** Code that code wrote below /tmp is loaded from there: by `require`, also one made for a file there, and in threads. */
function leadLoading(lead: (path: unknown) => unknown): void {
  const loader = Module as unknown as Record<"_resolveFilename" | "createRequire", AnyFunction>;
  for (const name of ["_resolveFilename", "createRequire"] as const) {
    const original = loader[name];
    loader[name] = function (this: unknown, path: unknown, ...more: unknown[]) {
      return original.call(this, lead(typeof path === "string" && path.startsWith("file:///tmp/") ? new URL(path) : path), ...more);
    };
  }
  threads.Worker = new Proxy(threads.Worker, {
    construct: (target, [path, options]: ConstructorParameters<typeof threads.Worker>, asked) =>
      Reflect.construct(target, [options?.eval === true ? path : lead(path), options], asked) as object,
  });
}

/** `process.chdir("/tmp")` goes to `own`, and `process.cwd()` calls it /tmp. */
function leadCwd(own: string, lead: (path: unknown) => unknown, named: (error: unknown) => unknown): void {
  const { chdir, cwd } = process;
  process.chdir = (folder) => {
    try {
      chdir(lead(folder) as string);
    } catch (error) {
      throw named(error);
    }
  };
  process.cwd = () => {
    const folder = cwd();
    return folder === own || folder.startsWith(`${own}/`) ? `/tmp${folder.slice(own.length)}` : folder;
  };
}
