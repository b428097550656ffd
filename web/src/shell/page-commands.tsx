/**
 * "As command" in the head of pages that are no record: lists, Home, settings, a new source. The
 * commands are loaded once they are asked for.
 */

import { useLocation } from "@tanstack/react-router";
import { SquareTerminal } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "~/ui/button";
import { WITH_COMMANDS } from "./with-commands";

const CommandsOfPage = lazy(async () => ({
  default: (await import("./commands-of-page")).CommandsOfPage,
}));

export function PageCommands() {
  const pathname = useLocation({ select: (location) => location.pathname });
  // Another page closes it.
  return WITH_COMMANDS.has(pathname) && <OfPage key={pathname} />;
}

function OfPage() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        look="quiet"
        className="only-wide"
        icon={SquareTerminal}
        onClick={() => setOpen(true)}
      >
        <span className="head-command-name">As command</span>
      </Button>
      {open && (
        <Suspense>
          <CommandsOfPage onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
