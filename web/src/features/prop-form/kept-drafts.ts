/** Drafts as they are kept in the browser; secrets are not. */

import { isObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import { stable } from "~/ui/changes";
import type { Draft, Drafts } from "./values";

export function withoutSecrets(props: readonly PropDef[], drafts: Drafts): Drafts {
  const secret = new Set(props.filter((prop) => prop.secret).map((prop) => prop.name));
  return Object.fromEntries(Object.entries(drafts).filter(([name]) => !secret.has(name)));
}

/** Drafts that differ from those of what is stored. */
export function typedOf(drafts: Drafts, plain: Drafts): Drafts {
  const differs = (name: string) => stable(drafts[name]) !== stable(plain[name]);
  return Object.fromEntries(Object.entries(drafts).filter(([name]) => differs(name)));
}

/** Reads what an earlier version of the page may have kept: what does not fit is left out. */
export function keptDrafts(kept: unknown): Record<string, Draft> {
  const drafts: Record<string, Draft> = {};
  if (!isObject(kept)) return drafts;
  for (const [name, draft] of Object.entries(kept)) {
    if (!isObject(draft)) continue;
    if (draft.kind === "text" && typeof draft.text === "string") {
      drafts[name] = { kind: "text", text: draft.text };
    } else if (draft.kind === "items" && Array.isArray(draft.items)) {
      drafts[name] = { kind: "items", items: draft.items.map(String) };
    } else if (draft.kind === "value" && "value" in draft) {
      const label = typeof draft.label === "string" ? { label: draft.label } : {};
      drafts[name] = { kind: "value", value: draft.value, ...label };
    }
  }
  return drafts;
}
