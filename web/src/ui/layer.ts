/** Container of menus, tips and lists of choices: the page's main landmark, or the open dialog. */

import { createContext, type RefObject, use } from "react";

/** Looked up when something opens: the page may have been drawn anew. */
const main: RefObject<HTMLElement | null> = {
  get current() {
    return document.getElementById("main");
  },
};

export const LayerContext = createContext<HTMLElement | null>(null);

export function useLayer(): HTMLElement | RefObject<HTMLElement | null> {
  return use(LayerContext) ?? main;
}
