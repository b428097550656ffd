import "./log.css";
import { useVirtualizer } from "@tanstack/react-virtual";
import { use, useLayoutEffect, useRef } from "react";
import { cn } from "./cn";
import { clock } from "./format";
import { ZoneContext } from "./time";

export type LogLine = { at: number; level: string; text: string; step?: string | undefined };

const LINE = 20;
const NEAR_END = 40;

/** Lines of a log, oldest first; the end stays in view while it is. */
export function Log({
  lines,
  label,
  none = "Nothing was logged.",
  withSteps = false,
}: {
  lines: readonly LogLine[];
  label: string;
  none?: string;
  withSteps?: boolean;
}) {
  const zone = use(ZoneContext);
  const scroll = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => LINE,
    overscan: 12,
    initialRect: { width: 600, height: 400 },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new line is what moves the end
  useLayoutEffect(() => {
    if (atEnd.current && lines.length > 0)
      virtual.scrollToIndex(lines.length - 1, { align: "end" });
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
              <span className="at">{clock(line.at, zone)}</span>
              <span className="level">{line.level}</span>
              {withSteps && <span className="step">{line.step}</span>}
              <span className="text">{line.text}</span>
            </div>
          );
        })}
      </div>
    </section>
  );
}
