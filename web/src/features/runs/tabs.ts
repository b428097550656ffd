/**
 * Tabs of the panel of a step; a file of its own, as addresses name them before the panel is
 * loaded.
 */

export const TABS = ["error", "input", "exports", "log", "sends", "code"] as const;
export type Tab = (typeof TABS)[number];
