// Ending a workflow from anywhere in its code.

/** The member of an error that means: end here, this is no failure. */
export const END_NEEDLE = "__pd_end";

export function $end(message?: string): never {
  throw Object.assign(new Error(message ?? "the workflow was ended"), { [END_NEEDLE]: { message, ts: new Date().toISOString() } });
}
