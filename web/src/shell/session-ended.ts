/** Message of a page whose session has ended: nothing on it goes, and one signs in beside it. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { stay } from "~/ui/toast";

/**
 * Offers to sign in until the session is there again. Signing in takes a tab of its own: forms and dialogs of this one keep
 * what was typed, and go on when the other tab says that somebody signed in.
 */
export function useSessionEnded(hasEnded: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!hasEnded) return;
    const close = stay({
      title: "Your session has ended",
      about: "What you typed is kept. Sign in, then try again.",
      shape: "paused",
      act: { label: "Sign in", onClick: signInBeside },
    });
    return () => {
      close();
      // What was refused meanwhile is read again.
      void queries.invalidateQueries();
    };
  }, [hasEnded, queries]);
}

/** The tab that signs in comes to this page. */
function signInBeside(): void {
  const next = `${window.location.pathname}${window.location.search}${window.location.hash}`;
  window.open(`/login?next=${encodeURIComponent(next)}`, "_blank", "noopener");
}
