/** Fields of the form of an app's OAuth client, and the record that it sends. */

import type { App } from "~/api/schema";

export type Client = NonNullable<App["oauth"]>;

export type ClientFields = {
  client_id: string;
  client_secret: string;
  authorize_url: string;
  token_url: string;
  scopes: string;
};

/** What is stored, as the form shows it; the secret never is. */
export const fieldsOfClient = (stored: Client | null): ClientFields => ({
  client_id: stored?.client_id ?? "",
  client_secret: "",
  authorize_url: stored?.authorize_url ?? "",
  token_url: stored?.token_url ?? "",
  scopes: stored?.scopes.join(" ") ?? "",
});

/** A change replaces the whole client: what the form does not show goes back as it is stored. */
export function changedClient(stored: Client | null, fields: ClientFields) {
  const { scopes, client_secret, ...rest } = fields;
  return {
    ...stored,
    ...rest,
    scopes: scopes.split(/[\s,]+/).filter((scope) => scope !== ""),
    ...(client_secret === "" ? {} : { client_secret }),
  };
}
