/**
 * List of error groups: count and age of each, and the newest error of the chosen one beside the
 * list.
 */

import "~/ui/table.css";
import "./errors.css";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { type Owner, ownersQuery } from "~/api/queries";
import type { ErrorGroup } from "~/api/schema";
import { AsCommand } from "~/shell/as-command";
import { type Column, ColumnsMenu, useColumns } from "~/shell/columns";
import { curlOf, line } from "~/shell/command-line";
import { useHeldList } from "~/shell/held-list";
import { useFiltered } from "~/shell/list-state";
import { NewBar } from "~/shell/new-bar";
import { ReadFailed } from "~/shell/read-failed";
import { useShortcuts } from "~/shell/shortcuts";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button, buttonClass } from "~/ui/button";
import { cn } from "~/ui/cn";
import { Search } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { BarStatus, PageHead, PaneHead, Segments } from "~/ui/pane";
import { State, Tile } from "~/ui/tag";
import { useNow, When } from "~/ui/time";
import { VirtualRows } from "~/ui/virtual-rows";
import { Line } from "~/ui/worded";
import { DAYS } from "./days";
import { StateActs, StateHistory, StateOf } from "./group-state";
import { DayBars, Lately } from "./lately";
import { NoneOpen } from "./none-open";
import { ownerOf } from "./owner";
import { groupsQuery, openErrorsQuery, SHOWN, type Shown } from "./queries";
import { ReplayAll } from "./replay-all";

const ROW_HEIGHT = 61;
const ASK_MS = 5_000;
const DAY_MS = 86_400_000;
const COLUMNS: readonly Column[] = [
  { name: "days", label: `${DAYS} days` },
  { name: "times", label: "Times" },
  { name: "first", label: "First seen" },
  { name: "last", label: "Last seen" },
];
const STATES: readonly (readonly [Shown, string])[] = [
  ["open", SHOWN.open.label],
  ["resolved", SHOWN.resolved.label],
  ["ignored", SHOWN.ignored.label],
];

export function ErrorList({
  q,
  of,
  chosen,
  state,
  onShow,
  renderRun,
}: {
  q: string;
  /** Id of the workflow or source whose errors are listed; absent: of all. */
  of: string | undefined;
  chosen: string | undefined;
  state: Shown;
  onShow: (next: {
    q?: string;
    group?: string | undefined;
    state?: Shown;
    /** Those of all workflows and sources. */
    everybody?: boolean;
  }) => void;
  /** The error of a run; routes put features together. */
  renderRun: (run: string) => ReactNode;
}) {
  useTitle("Errors");
  const scroll = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const groups = useInfiniteQuery({ ...groupsQuery(state, of), refetchInterval: ASK_MS });
  useCountInFrame(state, of, groups.data?.pages[0]?.page_info.total_count);
  const { data: owners, isPending: areOwnersPending } = useQuery(ownersQuery);
  const columns = useColumns("errors", COLUMNS);
  const all = groups.data?.pages.flatMap((page) => page.data) ?? [];
  const words = q.toLowerCase();
  const matching = all.filter((group) =>
    `${group.code} ${group.message} ${group.step} ${group.frame} ${ownerOf(group, owners).name}`
      .toLowerCase()
      .includes(words),
  );
  const filtered = useFiltered(groups, words !== "", "group");
  const isNoneYet = matching.length === 0 && filtered.reads;
  const comes = groups.isPending || areOwnersPending || isNoneYet;
  const { shown, fresh, isAtLeast, show } = useHeldList(comes ? [] : matching, {
    key: `${of ?? ""} ${state} ${words}`,
    box: scroll,
    isWhole: !groups.hasNextPage,
  });
  const times = matching.reduce((sum, group) => sum + group.count, 0);
  const { current, index } = useListKeys({
    ids: shown.map(({ id }) => id),
    onOpen: (id) => onShow({ q, group: id }),
  });
  useShortcuts({ filter: () => field.current?.focus() });
  const open = shown.find(({ id }) => id === chosen) ?? shown[0];
  const ofName = of === undefined ? "" : ` of ${owners?.get(of)?.name ?? of}`;
  const ofAll = of !== undefined && (
    <Button onClick={() => onShow({ q, everybody: true })}>All errors</Button>
  );
  return (
    <>
      <PageHead
        acts={
          <AsCommand
            commands={() => [
              {
                name: "Command line",
                text:
                  of === undefined
                    ? line`millrace errors --groups --state=${SHOWN[state].state}`
                    : line`millrace errors ${of} --groups --state=${SHOWN[state].state}`,
              },
              {
                name: "curl",
                text: curlOf("GET", pathOf(of), { query: { state: SHOWN[state].state } }),
              },
            ]}
          />
        }
      >
        <h1>Errors</h1>
      </PageHead>
      <div className="bar">
        <Search
          ref={field}
          wide
          label="Search messages, classes, steps"
          keys="/"
          value={q}
          onChange={(event) => onShow({ q: event.target.value, group: chosen })}
        />
        {of !== undefined && (
          <OwnerChip
            name={owners?.get(of)?.name ?? of}
            onRemove={() => onShow({ q, group: chosen, everybody: true })}
          />
        )}
        <Segments
          label="State"
          value={state}
          onChange={(next) => onShow({ q, state: next })}
          choices={STATES}
        />
        <BarStatus>
          {groups.isSuccess &&
            `${filtered.words(matching.length)}${groups.hasNextPage ? "" : `, ${plural(times, "error")}`}`}
        </BarStatus>
        <ColumnsMenu list="errors" columns={COLUMNS} />
      </div>
      {groups.error !== null && (
        <ReadFailed what="The errors" error={groups.error} again={groups.refetch} />
      )}
      {comes && <SkeletonRows height={ROW_HEIGHT} rows={5} />}
      {groups.isSuccess && all.length === 0 && state !== "open" && (
        <Empty title={`No ${state} errors${ofName}.`}>{ofAll}</Empty>
      )}
      {groups.isSuccess &&
        all.length === 0 &&
        state === "open" &&
        (of === undefined ? (
          <NoneOpen />
        ) : (
          <Empty title={`No open errors${ofName}.`}>{ofAll}</Empty>
        ))}
      {!comes && all.length > 0 && shown.length === 0 && (
        <Empty title={`None of ${filtered.of} match.`}>
          <Button onClick={() => onShow({ q: "", group: undefined })}>Clear filters</Button>
        </Empty>
      )}
      {!comes && shown.length > 0 && (
        <div className="error-cols scroll">
          <div className="error-list">
            <div className="scroll" ref={scroll}>
              <NewBar fresh={fresh.length} isAtLeast={isAtLeast} onShow={show} />
              <table className={cn("tbl t-groups", columns.className)} aria-label="Errors">
                <thead>
                  <tr className="tr is-head">
                    <th>Error</th>
                    <th className="c-days">{DAYS} days</th>
                    <th className="is-right c-times">Times</th>
                    <th className="c-first">First seen</th>
                    <th className="c-last">Last seen</th>
                  </tr>
                </thead>
                <tbody>
                  <VirtualRows
                    count={shown.length}
                    height={ROW_HEIGHT}
                    scroll={scroll}
                    keyOf={(at) => shown[at]?.id ?? String(at)}
                    shown={index}
                  >
                    {(at, row) => {
                      const group = shown[at];
                      if (group === undefined) return null;
                      return (
                        <tr
                          {...row}
                          className={`tr is-two${group.id === current ? " is-current" : ""}`}
                          aria-current={group.id === open?.id ? "true" : undefined}
                        >
                          <td>
                            <button
                              type="button"
                              className="row-link group-line"
                              onClick={() => onShow({ q, group: group.id })}
                            >
                              <span className="failed-text name">{group.code}</span>
                              <span className="cut">
                                <Line text={group.message} />
                              </span>
                            </button>
                            <Where group={group} owner={ownerOf(group, owners)} />
                          </td>
                          <td className="c-days">
                            <DayBars group={group} width={112} height={24} />
                          </td>
                          <td className="is-right num group-count c-times">{count(group.count)}</td>
                          <td className="mid above c-first">
                            <When at={group.first_seen_ms} />
                          </td>
                          <td className="mid above c-last">
                            <When at={group.last_seen_ms} />
                          </td>
                        </tr>
                      );
                    }}
                  </VirtualRows>
                </tbody>
              </table>
              {groups.hasNextPage && (
                <div className="list-end">
                  <Button
                    busy={groups.isFetchingNextPage && "Loading…"}
                    onClick={() => void groups.fetchNextPage()}
                  >
                    Show more
                  </Button>
                </div>
              )}
            </div>
          </div>
          {open !== undefined && (
            <Peek key={open.id} group={open} owner={ownerOf(open, owners)}>
              {renderRun(open.last_run_id)}
            </Peek>
          )}
        </div>
      )}
    </>
  );
}

function pathOf(owner: string | undefined): string[] {
  if (owner === undefined) return ["error_groups"];
  return [owner.startsWith("p_") ? "workflows" : "sources", owner, "error_groups"];
}

function OwnerChip({ name, onRemove }: { name: string; onRemove: () => void }) {
  return (
    <span className="chip">
      <span className="k">Workflow or source</span>
      <span className="v cut">{name}</span>
      <button
        type="button"
        className="x"
        aria-label="Clear filter Workflow or source"
        onClick={onRemove}
      >
        <X className="icon is-xs" aria-hidden="true" />
      </button>
    </span>
  );
}

/** The number beside Errors in the frame is the one that the list has. */
function useCountInFrame(state: Shown, of: string | undefined, total: number | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (state !== "open" || of !== undefined || total === undefined) return;
    queries.setQueryData(openErrorsQuery.queryKey, total);
  }, [queries, state, of, total]);
}

function Where({ group, owner }: { group: ErrorGroup; owner: Owner }) {
  const now = useNow();
  return (
    <span className="group-at small">
      <Tile name={owner.name} size="xs" />
      <span className="mid cut">{owner.name}</span>
      {group.step !== "" && <span className="mono dim cut">{group.step}</span>}
      {now - group.first_seen_ms < DAY_MS && <State kind="alarm">New today</State>}
      <StateOf group={group} />
    </span>
  );
}

function Peek({
  group,
  owner,
  children,
}: {
  group: ErrorGroup;
  owner: Owner;
  children: ReactNode;
}) {
  return (
    <section className="peek in-order" aria-label="Error">
      <PaneHead title={owner.name}>
        <Link to="/runs/$id" params={{ id: group.last_run_id }} className="link small nowrap">
          Newest run
        </Link>
        <Link
          to="/errors/$group"
          params={{ group: group.id }}
          className={buttonClass({ look: "normal", size: "sm" })}
        >
          Open the group
        </Link>
      </PaneHead>
      {children}
      <div className="peek-body in-order">
        <dl className="facts">
          <div>
            <dt>Times</dt>
            <dd className="num">{count(group.count)}</dd>
          </div>
          <div>
            <dt>First</dt>
            <dd>
              <When at={group.first_seen_ms} />
            </dd>
          </div>
          <div>
            <dt>Last</dt>
            <dd>
              <When at={group.last_seen_ms} />
            </dd>
          </div>
        </dl>
        <div className="peek-acts">
          <ReplayAll group={group} />
          <StateActs group={group} />
        </div>
        <Lately group={group} owner={owner.id} />
        <StateHistory id={group.id} />
      </div>
    </section>
  );
}
