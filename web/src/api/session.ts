/** Session of the browser. */

import { client, data } from "./client";

export type Role = "owner" | "member" | "viewer";

export type Session = {
  user: { id: string; name: string; email: string };
  org: { id: string; name: string };
  role: Role;
  scopes: readonly string[];
  orgs: readonly { id: string; name: string; role: Role }[];
};

export async function readSession(signal: AbortSignal): Promise<Session> {
  const me = await data(client.GET("/v1/users/me", { signal }));
  const orgs = me.orgs.map(({ id, name }) => ({ id, name, role: "owner" as const }));
  const [org] = orgs;
  if (org === undefined) throw new Error("the user belongs to no organization");
  return {
    user: { id: me.id, name: me.username, email: me.email },
    org,
    role: "owner",
    scopes: ["full"],
    orgs,
  };
}
