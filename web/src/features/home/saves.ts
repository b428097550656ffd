/** Saves of drafts among the audit records; an editor saves every few seconds. Pure. */

import type { AuditRecord } from "~/api/schema";

const SAVE = "PUT /workflows/{id}";

type Saved = Pick<AuditRecord, "action" | "target" | "user_id" | "key_id">;

/** Leaves out a save where the next record of the same workflow is a save by the same person. */
export function withoutEarlierSaves<T extends Saved>(newestFirst: readonly T[]): T[] {
  const next = new Map<string | null | undefined, T>();
  return newestFirst.filter((record) => {
    const later = next.get(record.target);
    next.set(record.target, record);
    return (
      record.action !== SAVE ||
      later?.action !== SAVE ||
      later.user_id !== record.user_id ||
      later.key_id !== record.key_id
    );
  });
}
