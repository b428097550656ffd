/** Filter of a log in an address; apart from the page, as every address is read at the first view. */

/** `level`: the least that is shown; lines that have `text`, of the step `step`. */
export type LogSearch = { level?: "warn" | "error"; text?: string; step?: string };

export function logSearch(given: Record<string, unknown>): LogSearch {
  const { level, text, step } = given;
  return {
    ...(level === "warn" || level === "error" ? { level } : {}),
    ...(typeof text === "string" && text !== "" ? { text } : {}),
    ...(typeof step === "string" && step !== "" ? { step } : {}),
  };
}
