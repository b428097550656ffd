/** Drafts of fields in which nothing was typed: of the stored value, or else of the default. */

import type { JsonObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import { stable } from "~/ui/changes";
import { type Draft, type Drafts, draftOf } from "./values";

export type Plain = {
  stored: JsonObject;
  /** Names of secrets that have a value on the server. */
  sealed: readonly string[];
  expressions: boolean;
};

export function plainDraft(prop: PropDef, of: Plain): Draft | undefined {
  return draftOf(prop, of.stored[prop.name], of.expressions) ?? emptyDraft(prop, of);
}

/** Where no value is stored. A default that stood in the field of a stored secret would overwrite it. */
export function emptyDraft(prop: PropDef, { sealed, expressions }: Plain): Draft | undefined {
  return sealed.includes(prop.name) ? undefined : draftOf(prop, prop.default, expressions);
}

/** Drafts that were typed after `sent` was sent. */
export function typedSince(drafts: Drafts, sent: Drafts): Drafts {
  return Object.fromEntries(
    Object.entries(drafts).filter(([name, draft]) => stable(draft) !== stable(sent[name])),
  );
}

/**
 * Drafts once the component returned its props anew: what nobody typed, which is as `before` says,
 * becomes what `after` says of the new definitions. What was typed stays, also where it was cleared.
 */
export function followed(drafts: Drafts, before: Drafts, after: Drafts): Drafts {
  const plain = Object.entries(after).filter(
    ([name]) => stable(drafts[name]) === stable(before[name]),
  );
  return { ...drafts, ...Object.fromEntries(plain) };
}
