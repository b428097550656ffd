/** Log, oldest line first; its end stays in view until it is scrolled away. */

import "./log.css";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef } from "react";
import { Button } from "./button";
import { cn } from "./cn";
import { clock } from "./format";
import { Long } from "./worded";

export type LogLine = { at: number; level: string; text: string; step?: string | undefined };

const LINE = 20;
const NEAR_END = 40;

/** Lines of a log, oldest first; the end stays in view while it is. */
export function Log({
  lines,
  label,
  none = "No log lines.",
  withSteps = false,
  older,
}: {
  lines: readonly LogLine[];
  label: string;
  none?: string;
  withSteps?: boolean;
  /** Asks for lines before the first; they come above what is in view. */
  older?: { busy: boolean; onWanted: () => void } | undefined;
}) {
  const scroll = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const shown = useRef<{ first: number | undefined; length: number }>({
    first: undefined,
    length: 0,
  });
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => LINE,
    overscan: 12,
    initialRect: { width: 600, height: 400 },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new line is what moves the end
  useLayoutEffect(() => {
    const had = shown.current;
    const first = lines[0]?.at;
    shown.current = { first, length: lines.length };
    if (lines.length === 0) return;
    if (atEnd.current) virtual.scrollToIndex(lines.length - 1, { align: "end" });
    else if (had.first !== undefined && first !== undefined && first < had.first) {
      virtual.scrollToIndex(lines.length - had.length, { align: "start" });
    }
  }, [lines.length]);
  if (lines.length === 0) return <p className="log-none">{none}</p>;
  return (
    <section
      ref={scroll}
      className={cn("log", withSteps && "has-step")}
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget: box }) => {
        atEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
      }}
    >
      {older !== undefined && (
        <div className="log-older">
          <Button
            size="sm"
            look="quiet"
            busy={older.busy && "Loading…"}
            onClick={() => {
              atEnd.current = false;
              older.onWanted();
            }}
          >
            Show older lines
          </Button>
        </div>
      )}
      <div className="log-all" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (line === undefined) return null;
          return (
            <div
              key={item.index}
              ref={virtual.measureElement}
              data-index={item.index}
              className={cn("log-line", `is-${line.level}`)}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <At at={line.at} />
              <span className="level">{line.level}</span>
              {withSteps && <span className="step">{line.step}</span>}
              <span className="text">
                <Long text={line.text} />
              </span>
            </div>
          );
        })}
      </div>
    </section>
  );
}

/** `14:02:31`, and its milliseconds where there is room for them. */
function At({ at }: { at: number }) {
  const [seconds, milliseconds] = clock(at).split(".");
  return (
    <span className="at">
      {seconds}
      <span className="ms">.{milliseconds}</span>
    </span>
  );
}
