// Answers to `@pipedream/platform`: the part that the main job needs; the rest comes with the component API.

export { axios } from "./axios.ts";
export { ConfigurationError } from "./errors.ts";

/** Seconds between polls of a source that names no other. */
export const DEFAULT_POLLING_SOURCE_TIMER_INTERVAL = 900;
