/** Fields of a form over a record that others change too, as texts, and what one person typed in them. Pure. */

import { isObject, textOf } from "~/api/json";

/** Text of each field by its name. */
export type Texts = Readonly<Record<string, string>>;

/** Fields that a person typed in: the text that the record had then, and the one that was typed. */
export type Typed = Readonly<Record<string, { from: string; to: string }>>;

/** Fields with one more; a field that is as the record has it is not typed. */
export function typedWith(typed: Typed, stored: Texts, name: string, to: string): Typed {
  const { [name]: was, ...others } = typed;
  const from = was?.from ?? stored[name] ?? "";
  return to === stored[name] ? others : { ...others, [name]: { from, to } };
}

/** What this browser kept, as far as it is of this form. */
export function typedFrom(kept: unknown): Typed {
  if (!isObject(kept)) return {};
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, value]) => {
      const [from, to] = isObject(value) ? [textOf(value.from), textOf(value.to)] : [];
      return from === undefined || to === undefined ? [] : [[name, { from, to }]];
    }),
  );
}

/** Typed fields that the record has otherwise: those alone are sent. */
export function unsavedOf(typed: Typed, stored: Texts): Typed {
  return Object.fromEntries(Object.entries(typed).filter(([name, { to }]) => stored[name] !== to));
}

/** What was typed while `sent` was being saved: it is not in the record that came back. */
export function typedAfter(typed: Typed, sent: Typed, saved: Texts): Typed {
  const later = Object.entries(typed).filter(([name, { to }]) => sent[name]?.to !== to);
  return unsavedOf(rebased(Object.fromEntries(later), saved), saved);
}

/** Fields that were typed here and, to another text, changed in the record since. */
export function conflictsOf(typed: Typed, stored: Texts): string[] {
  return Object.entries(unsavedOf(typed, stored))
    .filter(([name, { from }]) => stored[name] !== from)
    .map(([name]) => name);
}

/** Fields whose owner knows what the record has now, and keeps what is typed: no conflict is left. */
export function rebased(typed: Typed, stored: Texts): Typed {
  return Object.fromEntries(
    Object.entries(typed).map(([name, { from, to }]) => [name, { from: stored[name] ?? from, to }]),
  );
}
