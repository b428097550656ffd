/** Lines of a long text, of which only those in view are made. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { Marked } from "./marked";

/** Text by lines, of which only those in view are made. */
export function Lines({ text, label, words }: { text: string; label: string; words: string }) {
  const lines = useMemo(() => text.split("\n"), [text]);
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 20,
    overscan: 20,
    initialRect: { width: 400, height: 400 },
  });
  return (
    <section ref={scroll} className="json-tree" aria-label={`${label} as text`} tabIndex={0}>
      <div className="json-all" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => (
          <div
            key={item.index}
            className="json-text"
            style={{ position: "absolute", transform: `translateY(${item.start}px)` }}
          >
            <Marked text={lines[item.index] ?? ""} words={words} />
          </div>
        ))}
      </div>
    </section>
  );
}
