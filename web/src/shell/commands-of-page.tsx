/** Dialog of the commands of the page that is open. */

import { useLocation } from "@tanstack/react-router";
import { CommandsDialog } from "./as-command";
import { commandsOf } from "./list-commands";

export function CommandsOfPage({ onClose }: { onClose: () => void }) {
  const { pathname, search } = useLocation();
  return <CommandsDialog commands={commandsOf(pathname, search)} onClose={onClose} />;
}
