// What Node loads first in each thread of a host (`--require`). A worker thread has file functions of its own: /tmp leads there as in the main thread.
import { getEnvironmentData, isMainThread } from "node:worker_threads";

import { leadTmp, OWN_TMP } from "./tmp.ts";

const own = getEnvironmentData(OWN_TMP);
if (!isMainThread && typeof own === "string") leadTmp(own);
