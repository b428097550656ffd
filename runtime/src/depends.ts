// Names of the props that the options of a prop depend on: what the functions of its
// `propDefinition` read of the configured props.
import { types } from "node:util";

import { ownerOf } from "./instance.ts";
import type { ResolvedProp } from "./props.ts";
import type { Bag, Fn } from "./types.ts";

/** Names that are listed for one prop. */
const NAMES_MAX = 20;

/** In the order in which they are read; none where no function reads any. */
export function dependenciesOf(prop: ResolvedProp, self: () => Bag): string[] {
  const names = new Set<string>();
  prop.levels.forEach(({ inputs }, at) => {
    // An async function may send requests before it ends.
    if (typeof inputs !== "function" || types.isAsyncFunction(inputs)) return;
    const owner = () => ownerOf(self(), prop.levels[at - 1]);
    // Where a value that is missing ends the function, an empty one may let it read on.
    if (!reads(inputs as Fn, owner, undefined, names)) reads(inputs as Fn, owner, {}, names);
  });
  names.delete(prop.name);
  return [...names].slice(0, NAMES_MAX);
}

/** Calls the function with props that all have this value, and adds the names that it reads; says whether it returned. */
function reads(inputs: Fn, owner: () => unknown, value: unknown, names: Set<string>): boolean {
  const configured = new Proxy(Object.create(null) as Bag, {
    get(_, name) {
      if (typeof name !== "string") return undefined;
      if (names.size <= NAMES_MAX) names.add(name);
      return value;
    },
  });
  try {
    const given = inputs.call(owner(), configured);
    if (given instanceof Promise) given.catch(() => {});
    return true;
  } catch {
    return false;
  }
}
