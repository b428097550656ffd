/** Apps that sources are connected to, by the accounts in their values. Pure. */

import { isObject, textOf } from "~/api/json";
import type { Source } from "~/api/schema";

/** Names of the apps of a source, each once. `apps`: the name of an account's app by the id of the account. */
export function appOf(
  { configured_props }: Pick<Source, "configured_props">,
  apps: ReadonlyMap<string, string>,
): string {
  const names = Object.values(configured_props)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .flatMap((value) => {
      const account = isObject(value) ? textOf(value.authProvisionId) : undefined;
      return apps.get(account ?? "") ?? [];
    });
  return [...new Set(names)].join(", ");
}
