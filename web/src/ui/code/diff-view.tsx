/** Unified difference of two texts: line numbers, signs and marked words. */

import "./code.css";
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { cn } from "../cn";
import { plural } from "../format";
import { type DiffLine, differenceOf } from "./diff";

/** Longer differences scroll within themselves, and only the lines in view are made. */
const WHOLE_MAX = 150;
const LINE_HEIGHT = 20;

/** A unified difference: two columns of numbers, sign, tint and marked words. */
export function DiffView({
  before,
  after,
  label,
}: {
  before: string;
  after: string;
  label: string;
}) {
  const { data: lines } = useQuery({
    queryKey: ["diff", before, after],
    queryFn: () => differenceOf(before, after),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (lines === undefined) return null;
  if (lines.length === 0) return <p className="diff-note">No difference.</p>;
  if (lines.length > WHOLE_MAX) return <LongDiff lines={lines} label={label} />;
  return (
    <figure className="lines is-diff" aria-label={label} tabIndex={0}>
      {lines.map((line, index) => (
        <Line key={index} of={line} />
      ))}
    </figure>
  );
}

function LongDiff({ lines, label }: { lines: readonly DiffLine[]; label: string }) {
  const scroll = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();
  return (
    <>
      <p className="diff-note">{changedWords(lines)}</p>
      <figure className="lines is-diff is-long" aria-label={label} tabIndex={0} ref={scroll}>
        <div style={{ height: items[0]?.start ?? 0 }} />
        {items.map(({ index }) => {
          const line = lines[index];
          return (
            line !== undefined && (
              <Line key={index} of={line} index={index} measure={virtual.measureElement} />
            )
          );
        })}
        <div style={{ height: virtual.getTotalSize() - (items.at(-1)?.end ?? 0) }} />
      </figure>
    </>
  );
}

function changedWords(lines: readonly DiffLine[]): string {
  const countOf = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return `${plural(countOf("add"), "line")} added, ${plural(countOf("del"), "line")} removed.`;
}

function Line({
  of: line,
  index,
  measure,
}: {
  of: DiffLine;
  index?: number;
  measure?: (element: HTMLElement | null) => void;
}) {
  if (line.kind === "fold") {
    return (
      <div className="is-fold" ref={measure} data-index={index}>
        {plural(line.count, "line")} the same
      </div>
    );
  }
  return (
    <div
      className={cn("line", line.kind !== "same" && `is-${line.kind}`)}
      ref={measure}
      data-index={index}
    >
      <span className="n">{line.before}</span>
      <span className="n">{line.after}</span>
      <span className="s">{line.kind === "del" ? "−" : line.kind === "add" ? "+" : ""}</span>
      <span className="t">
        {line.pieces.map((piece, at) =>
          piece.marked ? <mark key={at}>{piece.text}</mark> : piece.text,
        )}
      </span>
    </div>
  );
}
