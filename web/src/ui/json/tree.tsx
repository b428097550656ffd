/** The tree of the inspector: virtual rows, keys of the tree pattern, detail and path of the active row. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { CornerDownLeft, Ellipsis } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { exactText } from "~/json/exact";
import { Button, IconButton } from "../button";
import { Copy, copyText } from "../copy";
import { Menu, MenuItem } from "../menu";
import { say } from "../toast";
import { dragPath } from "./dragged-path";
import {
  firstOpen,
  type Hit,
  imageOf,
  jqPath,
  keyOf,
  openFor,
  type Path,
  pathText,
  type Row,
  rowsOf,
} from "./model";
import { JsonRow } from "./row";

const ROW_HEIGHT = 20;
/** Of one level, as the style sheet has it. */
const INDENT = 16;
/** Least width of a row beside its indent. */
const ROW_ROOM = 200;
const PAGE_ROWS = 15;
const SHORT = 60;

type TreeProps = {
  value: unknown;
  base: string;
  label: string;
  hit: Hit | undefined;
  words: string;
  onStep: (by: 1 | -1) => void;
  onSearch: () => void;
  onPick: ((path: string) => void) | undefined;
  pickInto: string | undefined;
};

/** Scrolls the box sideways where the row begins out of view. */
function showAcross(box: HTMLElement | null, row: Row | undefined): void {
  if (box === null || row === undefined) return;
  const start = row.depth * INDENT;
  const isInView = start >= box.scrollLeft && start + ROW_ROOM <= box.scrollLeft + box.clientWidth;
  if (!isInView) box.scrollLeft = Math.max(0, start + ROW_ROOM - box.clientWidth);
}

export function Tree(given: TreeProps) {
  const { value, base, label, hit, words, onStep, onSearch, onPick, pickInto } = given;
  const id = useId();
  const [open, setOpen] = useState<ReadonlySet<string>>(() => firstOpen(value));
  const [active, setActive] = useState<string | null>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(value, open), [value, open]);
  const deepest = useMemo(() => rows.reduce((most, { depth }) => Math.max(most, depth), 0), [rows]);
  const index = Math.max(
    0,
    rows.findIndex(({ key }) => key === active),
  );
  const row = rows[index];
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    initialRect: { width: 400, height: 400 },
  });

  // The place of a hit opens and comes into view.
  const wanted = useRef<string | null>(null);
  useEffect(() => {
    if (hit === undefined) return;
    const key = keyOf(hit.path);
    wanted.current = key;
    setOpen((before) => new Set([...before, ...openFor(value, hit.path)]));
    setActive(key);
  }, [hit, value]);
  useEffect(() => {
    if (wanted.current === null) return;
    const at = rows.findIndex(({ key }) => key === wanted.current);
    if (at < 0) return;
    virtual.scrollToIndex(at, { align: "center" });
    showAcross(scroll.current, rows[at]);
    wanted.current = null;
  }, [rows, virtual]);

  const toggle = (target: Row, to?: boolean) => {
    if (target.kind === "leaf") return;
    const next = new Set(open);
    if (to ?? target.kind !== "open") next.add(target.key);
    else next.delete(target.key);
    setOpen(next);
  };
  const move = (to: number) => {
    const at = Math.min(rows.length - 1, Math.max(0, to));
    const target = rows[at];
    if (target === undefined) return;
    setActive(target.key);
    virtual.scrollToIndex(at);
    showAcross(scroll.current, target);
  };
  const parentOf = (at: number) => {
    const depth = rows[at]?.depth ?? 0;
    for (let up = at - 1; up >= 0; up -= 1) if ((rows[up]?.depth ?? 0) < depth) return up;
    return at;
  };
  const copyPath = async (path: Path) => {
    if (await copyText(pathText(base, path))) say({ title: "Path copied" });
  };
  const copyValue = async (target: unknown) => {
    if (await copyText(valueText(target))) say({ title: "Value copied" });
  };

  /** Actions for a key; false for keys that are not the tree's. */
  const act = (key: string, at: Row): boolean => {
    switch (key) {
      case "ArrowDown":
        move(index + 1);
        break;
      case "ArrowUp":
        move(index - 1);
        break;
      case "PageDown":
        move(index + PAGE_ROWS);
        break;
      case "PageUp":
        move(index - PAGE_ROWS);
        break;
      case "Home":
        move(0);
        break;
      case "End":
        move(rows.length - 1);
        break;
      case "ArrowRight":
        if (at.kind === "open") move(index + 1);
        else toggle(at, true);
        break;
      case "ArrowLeft":
        if (at.kind === "open") toggle(at, false);
        else move(parentOf(index));
        break;
      case "Enter":
        if (onPick !== undefined && at.range === undefined) onPick(pathText(base, at.path));
        else toggle(at);
        break;
      case " ":
        toggle(at);
        break;
      case "*":
        openSiblings(at);
        break;
      case "y":
        void copyPath(at.path);
        break;
      case "Y":
        void copyValue(at.value);
        break;
      case "/":
        onSearch();
        break;
      case "n":
        onStep(1);
        break;
      case "N":
        onStep(-1);
        break;
      default:
        return false;
    }
    return true;
  };
  const openSiblings = (at: Row) => {
    const parent = keyOf(at.path.slice(0, -1));
    const siblings = rows.filter(
      ({ kind, path }) => kind !== "leaf" && keyOf(path.slice(0, -1)) === parent,
    );
    setOpen(new Set([...open, ...siblings.map(({ key }) => key)]));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (row === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    if (!act(event.key, row)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <div
        ref={scroll}
        className="json-tree"
        role="tree"
        aria-label={label}
        aria-activedescendant={row === undefined ? undefined : `${id}-${index}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <div
          className="json-all"
          style={{ height: virtual.getTotalSize(), minWidth: deepest * INDENT + ROW_ROOM }}
        >
          {virtual.getVirtualItems().map((item) => {
            const each = rows[item.index];
            return (
              each !== undefined && (
                <JsonRow
                  key={each.key}
                  id={`${id}-${item.index}`}
                  row={each}
                  top={item.start}
                  active={item.index === index && active !== null}
                  words={words}
                  onPress={() => {
                    setActive(each.key);
                    toggle(each);
                  }}
                  onDrag={
                    onPick === undefined || each.range !== undefined
                      ? undefined
                      : (event) => dragPath(event, pathText(base, each.path))
                  }
                />
              )
            );
          })}
        </div>
        {rows.length === 0 && (
          <p className="json-text dim">{Array.isArray(value) ? "[ ]" : "{ }"}</p>
        )}
      </div>
      {row !== undefined && active !== null && <Detail row={row} />}
      {row !== undefined && (
        <div className="path-bar">
          <PathShown base={base} path={active === null ? [] : row.path} />
          {pickInto !== undefined && active !== null && row.range === undefined && (
            <Button
              size="sm"
              icon={CornerDownLeft}
              aria-label={`Insert into ${pickInto}`}
              title={`Insert into ${pickInto}`}
              onClick={() => onPick?.(pathText(base, row.path))}
            >
              Insert
            </Button>
          )}
          <Copy
            named
            text={() => pathText(base, active === null ? [] : row.path)}
            label="Path"
            keys="y"
          />
          <Copy
            named
            text={() => valueText(active === null ? value : row.value)}
            label="Value"
            keys="shift+y"
          />
          <Menu
            label="More copy options"
            trigger={<IconButton icon={Ellipsis} size="sm" label="More copy options" />}
          >
            <MenuItem onSelect={() => void copyText(jqPath(active === null ? [] : row.path))}>
              Copy the path for jq
            </MenuItem>
            <MenuItem onSelect={() => void copyText(valueText(value))}>Copy all as JSON</MenuItem>
          </Menu>
        </div>
      )}
    </>
  );
}

export function valueText(value: unknown): string {
  return typeof value === "string" ? value : (exactText(value, 2) ?? "undefined");
}

/** The path, cut in its middle; the last name stands out. */
function PathShown({ base, path }: { base: string; path: Path }) {
  const whole = pathText(base, path);
  const head = pathText(base, path.slice(0, -1));
  const last = whole.slice(head.length);
  return (
    <span className="mono" title={whole}>
      <span className="cut">{head || base}</span>
      <b>{last}</b>
    </span>
  );
}

/** Long texts whole, and images, below the tree. */
function Detail({ row }: { row: Row }) {
  const image = imageOf(row.value);
  if (image !== undefined) {
    return (
      <div className="json-detail">
        <img src={image} alt={`Value at ${pathText("", row.path)}`} />
      </div>
    );
  }
  const { value } = row;
  if (typeof value !== "string" || row.kind !== "leaf") return null;
  if (value.length < SHORT && !value.includes("\n")) return null;
  return (
    <section className="json-detail code" tabIndex={0} aria-label="The whole text">
      {value}
    </section>
  );
}
