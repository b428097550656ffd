/** Rows of a long table of which only those in view are made; they stay in the flow of the table's grid. */

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  Fragment,
  type ReactNode,
  type RefObject,
  startTransition,
  useEffect,
  useState,
} from "react";

/** Height of what stands above the rows in the box that scrolls: the bar of new rows, and the head of the table. */
const ABOVE = 54;

/** Height of what every page has above its list, at least. */
const FRAME = 92;

const OVERSCAN = 8;

export type RowRef = { ref: (element: HTMLElement | null) => void; "data-index": number };

export function VirtualRows({
  count,
  height,
  scroll,
  keyOf,
  shown,
  children,
}: {
  count: number;
  /** Height of a row; others are measured. */
  height: number;
  scroll: RefObject<HTMLElement | null>;
  keyOf: (index: number) => string;
  /** The row that must be in view, such as the one under the keys. */
  shown?: number | undefined;
  children: (index: number, row: RowRef) => ReactNode;
}) {
  // The rows in view are drawn first, those around them after it: a page with a list comes sooner.
  const [overscan, setOverscan] = useState(0);
  useEffect(() => startTransition(() => setOverscan(OVERSCAN)), []);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    getItemKey: keyOf,
    overscan,
    scrollPaddingEnd: ABOVE,
    initialRect: { width: 1_000, height: Math.max(0, window.innerHeight - FRAME) },
  });
  useEffect(() => {
    if (shown !== undefined && shown >= 0) virtual.scrollToIndex(shown, { align: "auto" });
  }, [shown, virtual]);
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <>
      <Space height={before} />
      {items.map((item) => (
        <Fragment key={item.key}>
          {children(item.index, { ref: virtual.measureElement, "data-index": item.index })}
        </Fragment>
      ))}
      <Space height={after} />
    </>
  );
}

function Space({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a space cannot be focused
    <tr aria-hidden="true" className="space-row">
      <td style={{ height }} />
    </tr>
  );
}
