/** Reader of the record of a run. */

import { client, exactData } from "./client";
import type { Run } from "./schema";

export function readRun(id: string, signal?: AbortSignal): Promise<Run> {
  const params = { path: { id } };
  const given = signal === undefined ? {} : { signal };
  return exactData(client.GET("/v1/runs/{id}", { params, parseAs: "text", ...given }));
}
