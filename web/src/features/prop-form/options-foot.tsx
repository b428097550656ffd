/**
 * Foot of a list of options: count, age and errors, with buttons that load more, read again or
 * stop.
 */

import { RefreshCw } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, IconButton } from "~/ui/button";
import { minute, plural } from "~/ui/format";
import { Glyph } from "~/ui/status";

const SLOW_MS = 2_000;

/** Below the list: how many are shown, how old they are, more, again; what went wrong; stop where it takes long. */
export function Foot({
  shown,
  at,
  more,
  pending,
  problem,
  stopped,
  onMore,
  onAgain,
  onStop,
}: {
  shown: number;
  at: number | undefined;
  more: boolean;
  pending: boolean;
  problem: string | undefined;
  /** Somebody stopped the last question. */
  stopped: boolean;
  onMore: () => void;
  onAgain: () => void;
  onStop: () => void;
}) {
  const seconds = useSeconds(pending);
  if (pending) {
    return (
      <>
        <Glyph status="running" small />
        <span role="status">Loading{seconds >= 1 ? `, ${seconds} s` : "…"}</span>
        {seconds * 1_000 >= SLOW_MS && (
          <button type="button" className="link end" onClick={onStop}>
            Stop
          </button>
        )}
      </>
    );
  }
  if (problem !== undefined || stopped) {
    return (
      <>
        {problem === undefined ? (
          <span className="grow" role="status">
            Stopped{shown > 0 && `, ${plural(shown, "option")}`}
          </span>
        ) : (
          <span className="failed-text grow" role="alert">
            {problem}
          </span>
        )}
        <Button size="sm" onClick={onAgain}>
          Retry
        </Button>
      </>
    );
  }
  return (
    <>
      <span>
        {plural(shown, "option")}
        {more && (
          <>
            , there may be more.{" "}
            <button type="button" className="link" onClick={onMore}>
              Load more
            </button>
          </>
        )}
      </span>
      <span className="row end nowrap">
        {at !== undefined && `loaded ${minute(at)}`}
        <IconButton size="sm" icon={RefreshCw} label="Reload options" onClick={onAgain} />
      </span>
    </>
  );
}

function useSeconds(running: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (!running) return;
    setSeconds(0);
    const timer = setInterval(() => setSeconds((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  return seconds;
}
