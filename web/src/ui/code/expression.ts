/** Completion within `{{expressions}}` of a text. Pure. */

import { completionOf, type Known, namesOf, type Option } from "./completion";

export type Completion = {
  /** Offset in the text of what an option replaces, up to the cursor. */
  from: number;
  options: Option[];
};

/** What fits at the cursor; `undefined` outside of an expression, and where nothing is known or all is typed. */
export function completionAt(known: Known, text: string, cursor: number): Completion | undefined {
  const before = text.slice(0, cursor);
  const open = before.lastIndexOf("{{");
  if (open < 0 || before.includes("}}", open)) return undefined;
  const inside = before.slice(open + 2);
  // At its beginning all names are as good.
  const found =
    inside.trim() === ""
      ? { from: inside.length, options: namesOf(known) }
      : completionOf(known, inside);
  if (found === undefined) return undefined;
  const typed = inside.slice(found.from).toLowerCase();
  const options = found.options.filter(
    ({ label }) => label.toLowerCase().startsWith(typed) && label.toLowerCase() !== typed,
  );
  return options.length === 0 ? undefined : { from: open + 2 + found.from, options };
}
