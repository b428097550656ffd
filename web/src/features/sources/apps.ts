/** Apps that sources are connected to, by the accounts in their values. Pure. */

import { isObject, textOf } from "~/api/json";
import type { Source } from "~/api/schema";

/** Ids of the accounts in the values of a source, each once. */
export function accountsIn({ configured_props }: Pick<Source, "configured_props">): string[] {
  const ids = Object.values(configured_props)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .flatMap((value) => (isObject(value) ? (textOf(value.authProvisionId) ?? []) : []));
  return [...new Set(ids)];
}

/** Names of the apps of these accounts, each once. `apps`: the name of an account's app by the id of the account. */
export function appOf(accounts: readonly string[], apps: ReadonlyMap<string, string>): string {
  return [...new Set(accounts.flatMap((id) => apps.get(id) ?? []))].join(", ");
}
