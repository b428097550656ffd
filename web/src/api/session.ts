/** Session of the browser: the person who is signed in, sign-in and sign-out. */

import { client, data } from "./client";
import type { Link as LinkRecord, Session as SessionRecord } from "./schema";

export type Role = "owner" | "member" | "viewer";

export type Session = Omit<SessionRecord, "role" | "orgs"> & {
  role: Role;
  orgs: readonly { id: string; name: string; role: Role }[];
};

export type Link = Omit<LinkRecord, "kind"> & { kind: "setup" | "invitation" | "reset" };

export async function readSession(signal: AbortSignal): Promise<Session> {
  const session = await data(client.GET("/v1/session", { signal }));
  return {
    ...session,
    role: roleOf(session.role),
    orgs: session.orgs.map((org) => ({ ...org, role: roleOf(org.role) })),
  };
}

/** A key that may only let things run has no role: what it may do is said by its scopes. */
function roleOf(text: string | null): Role {
  return text === "owner" || text === "member" ? text : "viewer";
}

export function signIn(body: { email: string; password: string }) {
  return data(client.POST("/v1/session", { body }));
}

/** The provider by which people sign in beside their passwords; null: there is none. */
export async function signInProvider(signal: AbortSignal): Promise<string | null> {
  return (await data(client.GET("/v1/sign_in", { signal }))).provider;
}

/** The provider's page; a cookie of this browser ends what is begun. */
export function beginAtProvider() {
  return data(client.POST("/v1/sign_in/begin"));
}

export function finishAtProvider(body: { state: string; code: string }) {
  return data(client.POST("/v1/sign_in/finish", { body }));
}

/** A mail with a link by which somebody who forgot the password sets another one. */
export function forgot(email: string) {
  return data(client.POST("/v1/links", { body: { email } }));
}

export function signOut() {
  return data(client.DELETE("/v1/session"));
}

export function switchOrg(org_id: string) {
  return data(client.PUT("/v1/session", { body: { org_id } }));
}

export async function openLink(token: string, signal: AbortSignal): Promise<Link> {
  const link = await data(client.POST("/v1/links/open", { body: { token }, signal }));
  const kind = link.kind === "setup" || link.kind === "reset" ? link.kind : "invitation";
  return { ...link, kind };
}

export function followLink(body: {
  token: string;
  password: string;
  name?: string;
  email?: string;
}) {
  return data(client.POST("/v1/links/use", { body }));
}
