/**
 * States by which an address filters sources; apart from the page, as every address is read at the
 * first view.
 */

export type SourceState = "active" | "inactive" | "unheard";

export const isSourceState = (text: unknown): text is SourceState =>
  text === "active" || text === "inactive" || text === "unheard";
