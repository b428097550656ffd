/** Owner of a group of errors, by name or id. */

import type { Owner } from "~/api/queries";
import type { ErrorGroup } from "~/api/schema";

/** Whose errors a group has; by its id where its name is not known. */
export function ownerOf(
  group: Pick<ErrorGroup, "workflow_id" | "source_id">,
  owners?: ReadonlyMap<string, Owner>,
): Owner {
  const id = group.workflow_id ?? group.source_id ?? "";
  return owners?.get(id) ?? { id, name: id, isWorkflow: group.workflow_id !== null };
}
