/** State of a list of runs: its pages, rows that stay while they are read, keys and selection. */

import { useNavigate } from "@tanstack/react-router";
import { type RefObject, useRef, useState } from "react";
import { body, client } from "~/api/client";
import { listedRowOf } from "~/api/run-list";
import { useLiveRuns } from "~/api/stream";
import { COUNTED_MAX } from "~/shell/counted";
import { useShortcuts } from "~/shell/shortcuts";
import { count, plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { type OwnerOfRuns, useMarks } from "./deployment-marks";
import { useHeldRuns } from "./held-runs";
import { useRunPages } from "./pages";
import type { Query } from "./run-filter";
import { rememberRuns } from "./run-order";
import { useSelection } from "./selection";

/** Beside the stream, which may be lost. */
const ASK_MS = 15_000;
/** A search, a few times at first: runs of this moment are in the index a second or two later. */
const SOON = { everyMs: 2_000, max: 8 };

export type RunsAsked = {
  /** What the list is of: another one has rows and a selection of its own. */
  key: string;
  /** What the API is asked. */
  query: () => Query;
  /** Words are searched for: their index is made behind the runs. */
  isSearch: boolean;
  /** The one workflow or source whose runs they are. */
  owner?: OwnerOfRuns | undefined;
};

export function useRunList({ key, query, isSearch, owner }: RunsAsked) {
  useLiveRuns();
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  const {
    pages,
    rows: all,
    first,
  } = useRunPages({
    queryKey: ["runs", "list", key],
    read: (page, signal) =>
      body(client.GET("/v1/runs", { params: { query: { ...page, ...query() } }, signal })),
    rowOf: listedRowOf,
    askMs: isSearch ? ASK_MS : false,
    soon: isSearch ? SOON : undefined,
  });
  const [isBusy, setBusy] = useState(false);
  const list = { key, box: scroll, isWhole: !pages.hasNextPage, isBusy };
  const { shown: rows, fresh, isAtLeast, show } = useHeldRuns(all, list);
  const ids = rows.map(({ id }) => id);
  rememberRuns(ids);
  const { marks, isLoading } = useMarks(rows, owner);
  const total = first?.page_info.total_count;
  const selection = useSelection(key, ids, total ?? 0);
  const [selects, setSelects] = useState(false);
  const { current, index, range, setLast } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
    onSelect: (chosen, toggles) => {
      const [only] = chosen;
      if (toggles && only !== undefined) selection.toggle(only);
      else selection.add(chosen);
    },
  });
  // Rows that are selected, and the row under the keys, stay where they are.
  const acts = selection.size > 0 || index >= 0;
  if (acts !== isBusy) setBusy(acts);
  useShortcuts({ selectAll: ids.length > 0 ? selection.all : undefined });
  return {
    pages,
    rows,
    ids,
    fresh,
    isAtLeast,
    show,
    marks,
    waits: isLoading,
    scroll,
    current,
    index,
    first: first?.page_info,
    total,
    query,
    selection,
    /** On narrow screens rows have checkboxes in this mode alone: a touch selects the row then. */
    selecting: {
      on: selects,
      set: (on: boolean) => {
        setSelects(on);
        if (!on) selection.none();
      },
    },
    choose: (id: string, ranged: boolean) => {
      if (ranged) selection.add(range(id));
      else selection.toggle(id);
      setLast(id);
    },
  };
}

export type ShownRuns = ReturnType<typeof useRunList> & {
  scroll: RefObject<HTMLDivElement | null>;
};

/** "1,000 or more": the server counts no further. */
export function countedWords(total: number): string {
  return total >= COUNTED_MAX ? `${count(COUNTED_MAX)} or more` : count(total);
}

/** "Showing 50 of 120 runs that failed". */
export function showingWords(shown: number, total: number | undefined, says: string): string {
  if (total === undefined) return "";
  const of =
    total >= COUNTED_MAX
      ? `${count(Math.max(COUNTED_MAX, shown))} runs or more`
      : plural(Math.max(total, shown), "run");
  return `Showing ${count(shown)} of ${of} ${says}`;
}
