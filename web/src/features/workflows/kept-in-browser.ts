/** Draft of a workflow as each tab keeps it in the browser until the server has it. */

import { isObject } from "~/api/json";
import type { Workflow } from "~/api/schema";
import { forget, keep, keptOf, keptUnder, moveKept, tabName } from "~/shell/kept";
import { stable } from "~/ui/changes";
import { keptDraft, withoutSecrets } from "./kept-draft";
import { contentOf, type Draft, isSavedAs } from "./model";

type Kept = {
  draft: Draft;
  at: number;
  /** The server's draft is still the one that it was typed over. */
  fits: boolean;
  /** Kept by another tab, which may be open still. */
  elsewhere: boolean;
  name: string;
};

/**
 * What this browser kept. Each tab keeps its own, so that two do not take away each other's; what a tab left as it was closed
 * is taken over by the next one.
 */
export function keptFor(workflow: Workflow): Kept | undefined {
  const own = keepName(workflow.id);
  for (const name of new Set([own, ...keptUnder(`workflow.${workflow.id}.`)])) {
    const kept = keptOf(name);
    if (kept === undefined || !isObject(kept.value)) continue;
    const draft = keptDraft(kept.value.draft);
    // The answer of its save was lost, or it was typed once more.
    if (draft === undefined || isSavedAs(draft, workflow)) {
      forget(name);
      continue;
    }
    const elsewhere = name !== own && kept.value.left !== true;
    if (name !== own && !elsewhere) moveKept(name, own);
    const fits = kept.value.over === contentOf(workflow) && !elsewhere;
    return { draft, at: kept.at, fits, elsewhere, name: elsewhere ? name : own };
  }
  return undefined;
}

/** Keeps what differs from the saved draft without secrets; when, where anything does. */
export function keepDraft(
  id: string,
  kept: { over: string; draft: Draft; saved: Draft; left: boolean },
) {
  const { saved, ...rest } = kept;
  const draft = withoutSecrets(rest.draft);
  if (stable(draft) === stable(withoutSecrets(saved))) {
    forget(keepName(id));
    return undefined;
  }
  return keep(keepName(id), { ...rest, draft });
}

export const keepName = (id: string) => `workflow.${id}.${tabName()}`;
