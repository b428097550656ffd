// Preloaded module of each thread of a host (`--require`). A worker thread has file functions of
// its own: /tmp leads there as in the main thread. `code_cache.ts` comes first, as modules load
// faster after it.
import { keepHeapOfWorkers } from "./code_cache.ts";

import { getEnvironmentData, isMainThread } from "node:worker_threads";

import { hideFoldersOfRequire, OF_THREADS, OWN_FOLDERS, plainStack, prepareStacks, takeFolders, withoutFolders, withoutFrames } from "./folders.ts";
import { leadTmp, OWN_TMP } from "./tmp.ts";

// Packages that start threads look for it there, and would leave it out; it also tells where the server keeps its files. Threads inherit it all the same.
const at = process.execArgv.indexOf("--require");
if (at >= 0) process.execArgv.splice(at, 2);

keepHeapOfWorkers();

const own = getEnvironmentData(OWN_TMP);
if (!isMainThread && typeof own === "string") {
  leadTmp(own);
  takeFolders(getEnvironmentData(OWN_FOLDERS));
  hideFoldersOfRequire(withoutFolders);
  prepareStacks((error, trace) => withoutFolders(withoutFrames(plainStack(error, trace), OF_THREADS)), OF_THREADS);
}
