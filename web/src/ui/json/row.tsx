/** Row of the JSON tree. */

import { ChevronDown, ChevronRight } from "lucide-react";
import type { CSSProperties, DragEvent } from "react";
import { cn } from "../cn";
import { bytes, clock, date, plural, zoneWord } from "../format";
import { Marked } from "./marked";
import { cutOf, hintOf, isContainer, momentOf, type Row, typeOf } from "./model";

const LONGEST_SHOWN = 300;
const DAY_MS = 86_400_000;

export function JsonRow({
  id,
  row,
  top,
  active,
  words,
  onPress,
  onDrag,
}: {
  id: string;
  row: Row;
  top: number;
  active: boolean;
  words: string;
  onPress: () => void;
  /** Called as somebody begins to drag it; without it, it stays. */
  onDrag: ((event: DragEvent) => void) | undefined;
}) {
  const place: CSSProperties & Record<"--depth", number> = {
    "--depth": row.depth,
    transform: `translateY(${top}px)`,
  };
  const Twist = row.kind === "open" ? ChevronDown : ChevronRight;
  const moment = momentOf(row.name, row.value);
  const cut = cutOf(row.value);
  return (
    // The tree takes the keys; a press is for the pointer.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles keys for its active row
    // biome-ignore lint/a11y/useFocusableInteractive: focus stays on the tree (aria-activedescendant)
    <div
      id={id}
      className={cn("json-row", active && "is-active")}
      style={place}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-setsize={row.siblings}
      aria-posinset={row.position + 1}
      aria-expanded={row.kind === "leaf" ? undefined : row.kind === "open"}
      aria-selected={active}
      onClick={onPress}
      draggable={onDrag !== undefined}
      onDragStart={onDrag}
    >
      <span className="json-twist" aria-hidden="true">
        {row.kind !== "leaf" && <Twist className="icon is-xs" />}
      </span>
      <span className="json-main">
        {row.range === undefined ? (
          <>
            {row.name !== null && (
              <>
                <span className="json-key">
                  <Marked text={row.name === "" ? '""' : String(row.name)} words={words} />
                </span>
                <span className="json-punct">: </span>
              </>
            )}
            <Value row={row} words={words} />
          </>
        ) : (
          <span className="json-punct">
            [{row.range.from} … {row.range.to}]
          </span>
        )}
      </span>
      {cut !== undefined && (
        <span className="json-note">
          {cut.bytes !== undefined
            ? `truncated by the server, ${bytes(cut.bytes)} in all`
            : cut.chars !== undefined
              ? `truncated by the server, ${plural(cut.chars, "character")} in all`
              : "too long to be stored"}
        </span>
      )}
      {moment !== undefined && <span className="json-note">{momentText(moment)}</span>}
      <span className={cn("json-type", row.kind === "leaf" && "is-leaf")}>{typeText(row)}</span>
    </div>
  );
}

function momentText(at: number): string {
  const near = Math.abs(Date.now() - at) < DAY_MS;
  const day = near ? "" : `${date(at)}, `;
  return `${day}${clock(at).slice(0, 8)} ${zoneWord()}`;
}

function typeText(row: Row): string {
  if (row.kind === "leaf") return typeOf(row.value);
  const noun = Array.isArray(row.value) ? "item" : "key";
  const size = `${row.size.toLocaleString("en")} ${row.size === 1 ? noun : `${noun}s`}`;
  return row.parsed ? `JSON in text, ${size}` : size;
}

function Value({ row, words }: { row: Row; words: string }) {
  const { value, kind } = row;
  if (kind === "open") {
    return <span className="json-punct">{Array.isArray(value) ? "[" : "{"}</span>;
  }
  if (isContainer(value)) {
    const list = Array.isArray(value);
    if (row.size === 0) return <span className="json-punct">{list ? "[ ]" : "{ }"}</span>;
    return (
      <>
        <span className="json-punct">{list ? "[ … ]" : "{ … }"}</span>
        <span className="json-hint">{hintOf(value)}</span>
      </>
    );
  }
  if (typeof value === "string") {
    const shown = value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}…` : value;
    return (
      <span className="json-str">
        "<Marked text={shown.replaceAll("\n", "⏎")} words={words} />"
      </span>
    );
  }
  return (
    <span className={typeOf(value) === "number" ? "json-num" : "json-word"}>
      <Marked text={String(value)} words={words} />
    </span>
  );
}
