/** Actions that an address asks for after its `#`, such as `#replay` in the links of mails. */

import { useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";

/**
 * Calls `act` where the address ends in `#name`, also of a page that is open already. The end is
 * then removed, so that the same link acts again.
 */
export function useHashAct(name: string, act: () => void): void {
  const isAsked = useLocation({ select: ({ hash }) => hash === name });
  const navigate = useNavigate();
  const answer = useEffectEvent(() => {
    act();
    void navigate({ to: ".", search: true, hash: "", replace: true, resetScroll: false });
  });
  useEffect(() => {
    if (isAsked) answer();
  }, [isAsked]);
}
