/** Hook that names the chosen event in the page's address. */

import { useNavigate } from "@tanstack/react-router";

/** Puts the chosen event into the address: it is the same after a reload, and for whoever gets the link. */
export function useNamedEvent(): (named: { run?: string; event?: string }) => void {
  const navigate = useNavigate();
  return (named) =>
    void navigate({
      to: ".",
      search: ({ run: _, event: __, ...had }) => ({ ...had, ...named }),
      replace: true,
      resetScroll: false,
    });
}
