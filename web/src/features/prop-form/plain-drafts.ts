/** Drafts of fields in which nothing was typed: of the stored value, or else of the default. */

import type { JsonObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import { type Draft, draftOf } from "./values";

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
