/** Fields of the form of an app's OAuth client, and the record that it sends. */

import type { App } from "~/api/schema";
import type { Typed } from "~/shell/typed-fields";

export type Client = NonNullable<App["oauth"]>;

/** What is stored, as the form shows it; the secret never is. */
export const fieldsOfClient = (stored: Client | null) => ({
  client_id: stored?.client_id ?? "",
  client_secret: "",
  authorize_url: stored?.authorize_url ?? "",
  token_url: stored?.token_url ?? "",
  scopes: stored?.scopes.join(" ") ?? "",
});

/** A change replaces the whole client: what was not typed goes back as it is stored now. */
export function changedClient(stored: Client | null, typed: Typed) {
  const texts = Object.fromEntries(Object.entries(typed).map(([name, { to }]) => [name, to]));
  const { scopes, client_secret, ...rest } = { ...fieldsOfClient(stored), ...texts };
  return {
    ...stored,
    ...rest,
    scopes: scopes.split(/[\s,]+/).filter((scope) => scope !== ""),
    ...(client_secret === "" ? {} : { client_secret }),
  };
}
