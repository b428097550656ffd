/** Session: the signed-in person, the organization, and the permissions of the role there. */

import { queryOptions } from "@tanstack/react-query";
import { createContext, use, useEffect } from "react";
import { readSession, type Session } from "~/api/session";

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => readSession(signal),
  staleTime: 60_000,
  retry: false,
});

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error("no session is provided above this component");
  return session;
}

/** All tabs have one cookie: what one of them does to the session, the others hear. */
const tabs = new BroadcastChannel("millrace.session");

/** Tells the other tabs that the session is for another organization, or another person's. */
export function tellTabs(): void {
  tabs.postMessage("changed");
}

/** Calls `onChange` when another tab changed the session. */
export function useOtherTabs(onChange: () => void): void {
  useEffect(() => {
    tabs.addEventListener("message", onChange);
    return () => tabs.removeEventListener("message", onChange);
  }, [onChange]);
}

export type Scope = "full" | "deploy" | "invoke" | "read";

const words: Record<Scope, string> = {
  full: "change keys, members and accounts",
  deploy: "deploy or change things",
  invoke: "run, replay or cancel",
  read: "view this",
};

/** Why the role may not do what needs the scope, or `undefined` where it may. */
export function useRefusal(needed: Scope): string | undefined {
  const { role, scopes } = useSession();
  if (allows(scopes, needed)) return undefined;
  const whose = role === "viewer" ? "Viewers" : "Members";
  return `${whose} cannot ${words[needed]}. An owner can change your role in Settings, Members.`;
}

/** `full` holds all, `deploy` holds `invoke` and `read`. */
export function allows(scopes: readonly string[], needed: Scope): boolean {
  if (scopes.includes("full") || scopes.includes(needed)) return true;
  return scopes.includes("deploy") && needed !== "full";
}
