/** Width of the side bar: narrow by the window, by the page, or as the person chose. */

import { read } from "./local";

export const RAIL_KEY = "millrace.rail";
/** The builder has three panes of its own: it begins with the rail. */
export const BUILDER_KEY = "millrace.builder-side";
export const narrowEnoughForRail = window.matchMedia("(max-width: 1180px)");

export const isBuilder = (pathname: string): boolean => /^\/workflows\/[^/]+\/edit$/.test(pathname);

/** As this browser remembers it; the server's preferences come later. */
export function beginsAsRail(pathname: string): boolean {
  if (narrowEnoughForRail.matches) return true;
  return isBuilder(pathname) ? read(BUILDER_KEY) !== "1" : read(RAIL_KEY) === "1";
}
