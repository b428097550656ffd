/** Table of runs: result of each, its time as a channel, selection. */

import "~/ui/table.css";
import "./run-table.css";
import { Link } from "@tanstack/react-router";
import type { ReactNode, RefObject } from "react";
import type { RunRow } from "~/api/run-list";
import { isFinal } from "~/api/runs";
import { type Column, useColumns } from "~/shell/columns";
import { happenedIn } from "~/shell/happened";
import { cn } from "~/ui/cn";
import { Checkbox } from "~/ui/field";
import { duration, shortId } from "~/ui/format";
import { StatusMark, statusWord } from "~/ui/status";
import { Tag, Tile } from "~/ui/tag";
import { useNow, When } from "~/ui/time";
import { type RowRef, VirtualRows } from "~/ui/virtual-rows";
import { Line } from "~/ui/worded";
import { Flow } from "./flow";
import { entriesOf, type Mark } from "./marks";
import { stretchesOf } from "./timeline";

const ROW_HEIGHT = 33;

export const RUN_COLUMNS: readonly Column[] = [
  { name: "owner", label: "Workflow or source" },
  { name: "version", label: "Version", off: true },
  { name: "flow", label: "Timeline" },
  { name: "took", label: "Duration" },
  { name: "when", label: "When" },
  { name: "id", label: "Run" },
];

type Selection = {
  /** Narrow screens show checkboxes too. */
  selects: boolean;
  chosen: ReadonlySet<string>;
  onChoose: (id: string, ranged: boolean) => void;
  onAll: (on: boolean) => void;
};

export function RunTable({
  rows,
  scroll,
  selection,
  current,
  index,
  bare = false,
  marks = [],
  whole = false,
  label,
}: {
  rows: readonly RunRow[];
  scroll: RefObject<HTMLElement | null>;
  selection?: Selection;
  current: string | undefined;
  index: number;
  /** Without the column of owners: all rows are of one. */
  bare?: boolean;
  /** What happened between runs, such as a deployment; the newest first. */
  marks?: readonly Mark[];
  /** No older run follows. */
  whole?: boolean;
  label: string;
}) {
  const now = useNow();
  const entries = entriesOf(rows, marks, whole);
  const all =
    selection !== undefined && rows.length > 0 && rows.every(({ id }) => selection.chosen.has(id));
  const some = selection !== undefined && !all && selection.chosen.size > 0;
  const columns = useColumns("runs", RUN_COLUMNS);
  return (
    <table
      className={cn(
        "tbl t-runs",
        columns.className,
        bare && "is-bare",
        selection !== undefined && "has-check",
        selection?.selects && "is-selecting",
      )}
      aria-label={label}
    >
      <thead>
        <tr className="tr is-head">
          {selection !== undefined && (
            <th className="c-check">
              <Checkbox
                aria-label="Select all shown"
                checked={all}
                some={some}
                onChange={selection.onAll}
              />
            </th>
          )}
          <th>Status</th>
          {!bare && <th className="c-owner">Workflow or source</th>}
          <th>Result</th>
          <th className="c-version">Version</th>
          <th className="c-flow">Timeline</th>
          <th className="is-right c-took">Duration</th>
          <th className="is-right c-when">When</th>
          <th className="c-id">Run</th>
        </tr>
      </thead>
      <tbody>
        <VirtualRows
          count={entries.length}
          height={ROW_HEIGHT}
          scroll={scroll}
          keyOf={(at) => entries[at]?.id ?? String(at)}
          shown={index < 0 ? index : entries.findIndex(({ id }) => id === rows[index]?.id)}
        >
          {(at, row) => {
            const entry = entries[at];
            if (entry === undefined) return null;
            if ("content" in entry) {
              return (
                <tr {...row} className="tr is-mark">
                  <td>{entry.content}</td>
                </tr>
              );
            }
            const run = entry;
            return (
              <Row
                run={run}
                row={row}
                now={isFinal(run.status) ? 0 : now}
                bare={bare}
                withVersion={!columns.hidden.includes("version")}
                current={run.id === current}
                selected={selection?.chosen.has(run.id)}
                onChoose={selection?.onChoose}
              />
            );
          }}
        </VirtualRows>
      </tbody>
    </table>
  );
}

function Row({
  run,
  row,
  now,
  bare,
  withVersion,
  current,
  selected,
  onChoose,
}: {
  run: RunRow;
  row: RowRef;
  now: number;
  bare: boolean;
  withVersion: boolean;
  current: boolean;
  selected: boolean | undefined;
  onChoose: Selection["onChoose"] | undefined;
}) {
  const end = run.finishedAt ?? Math.max(now, run.acceptedAt);
  const stretches = stretchesOf(
    { ...run, planned: run.error === undefined ? 0 : run.steps.length + 1 },
    end,
  );
  return (
    <tr {...row} className={`tr${current ? " is-current" : ""}${selected ? " is-selected" : ""}`}>
      {onChoose !== undefined && (
        <td className="c-check above">
          <Checkbox
            aria-label={`Select ${shortId(run.id)}`}
            checked={selected === true}
            onChange={(_, ranged) => onChoose(run.id, ranged)}
          />
        </td>
      )}
      <td className="cut">
        <StatusMark status={run.status} />
      </td>
      {!bare && (
        <td className="row c-owner">
          <Tile name={run.ownerName} />
          <span className="name cut">{run.ownerName}</span>
        </td>
      )}
      <td className="cut c-what">
        <Link to="/runs/$id" params={{ id: run.id }} className="row-link">
          <Happened run={run} />
        </Link>
      </td>
      <td className="c-version">
        {withVersion && run.version !== undefined && <Tag>v{run.version}</Tag>}
      </td>
      <td className="c-flow">
        <Flow
          stretches={stretches}
          label={`${statusWord[run.status]}, ${duration(end - run.acceptedAt)}`}
        />
      </td>
      <td className="num is-right c-took">{duration(end - run.acceptedAt)}</td>
      <td className="dim is-right above c-when">
        <When at={run.acceptedAt} />
      </td>
      <td className="mono dim cut c-id" title={run.id}>
        {shortId(run.id)}
      </td>
    </tr>
  );
}

/** The error, the step's own summary, or where it waits. */
function Happened({ run }: { run: RunRow }): ReactNode {
  if (run.error !== undefined) {
    return (
      <>
        <span className="failed-text name">{run.error.code}</span> <Line text={run.error.message} />
      </>
    );
  }
  if (run.paused !== undefined) {
    return (
      <span className="mid">
        waiting{run.paused.step !== undefined && <> in {run.paused.step}</>}
      </span>
    );
  }
  if (run.summary !== undefined) return run.summary;
  return <span className="mid">{happenedIn(run)}</span>;
}
