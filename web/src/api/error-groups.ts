/** State of groups of errors: setting it, and resolving a group while its runs are replayed. */

import { client, data } from "./client";
import type { ErrorGroupRecord } from "./schema";

/** Sets the state of a group of errors. A resolved group opens again when a run that was accepted later fails with it. */
export function setErrorState(
  id: string,
  state: "open" | "resolved" | "ignored",
): Promise<ErrorGroupRecord> {
  return data(client.PUT("/v1/error_groups/{id}", { params: { path: { id } }, body: { state } }));
}

/** Resolves a group and begins what ends its errors; where that cannot begin, the group is open as before. */
export async function resolvingError<T>(group: string, begin: () => Promise<T>): Promise<T> {
  // Before the runs begin: one of them that fails again opens the group.
  await setErrorState(group, "resolved");
  try {
    return await begin();
  } catch (error) {
    await setErrorState(group, "open").catch(() => undefined);
    throw error;
  }
}
