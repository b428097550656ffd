/** What the panel of a step shows; in a file of its own, as addresses name it before the panel is loaded. */

export const TABS = ["error", "input", "exports", "log", "sends", "code"] as const;
export type Tab = (typeof TABS)[number];
