/** Runs of all workflows and sources. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { body, client } from "~/api/client";
import { ownersQuery } from "~/api/queries";
import { listedRowOf } from "~/api/run-list";
import { useLiveRuns } from "~/api/stream";
import { AsCommand, type Command } from "~/shell/as-command";
import { ColumnsMenu } from "~/shell/columns";
import { type CommandLine, curlOf, line } from "~/shell/command-line";
import { ListState } from "~/shell/list-state";
import { countOf } from "~/shell/new-bar";
import { SavedViews } from "~/shell/saved-views";
import { useShortcuts } from "~/shell/shortcuts";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, buttonClass } from "~/ui/button";
import { Search } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { BarStatus, PageHead, Segments } from "~/ui/pane";
import { When } from "~/ui/time";
import { useMarksBetween } from "./deployment-marks";
import { FilterBar, filterInWords } from "./filter-bar";
import { useHeldRuns } from "./held-runs";
import { NewRuns } from "./new-runs";
import { useRunPages } from "./pages";
import { type Query, queryOf, type RunFilter } from "./run-filter";
import { rememberRuns } from "./run-order";
import { RUN_COLUMNS, RunTable } from "./run-table";
import { useSelection } from "./selection";
import { SelectionBar } from "./selection-bar";
import { NoneMatch } from "./tightest";
import { type RunView, VIEW_NAMES, VIEWS } from "./views";

/** Beside the stream, which may be lost. */
const ASK_MS = 15_000;
/** A search, a few times at first: runs of this moment are in the index a second or two later. */
const SOON = { everyMs: 2_000, max: 8 };
/** As far as the server counts. */
const COUNTED_MAX = 1_000;

type AllRunsProps = {
  view: RunView;
  onView: (view: RunView) => void;
  filter: RunFilter;
  onFilter: (filter: RunFilter) => void;
  q: string;
  onSearch: (q: string) => void;
  /** What the address says, for views that are saved; and the way to one of them. */
  search: Readonly<Record<string, string>>;
  onOpen: (search: Readonly<Record<string, string>>) => void;
};

export function AllRuns({
  view,
  onView,
  filter,
  onFilter,
  q,
  onSearch,
  search,
  onOpen,
}: AllRunsProps) {
  const { data: owners } = useQuery(ownersQuery);
  useLiveRuns();
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  const {
    pages: runs,
    rows: all,
    first: newest,
  } = useRunPages({
    queryKey: ["runs", "all", view, filter, q],
    read: (page, signal) => {
      const query = { ...page, ...queryOf(view, filter, q, Date.now()) };
      return body(client.GET("/v1/runs", { params: { query }, signal }));
    },
    rowOf: listedRowOf,
    // The index of words is made behind the runs.
    askMs: q === "" ? false : ASK_MS,
    soon: q === "" ? undefined : SOON,
  });
  const listKey = JSON.stringify([view, filter, q]);
  const [isBusy, setBusy] = useState(false);
  const list = { key: listKey, box: scroll, isWhole: !runs.hasNextPage, isBusy };
  const { shown: rows, fresh, isAtLeast, show } = useHeldRuns(all, list);
  useTitle(fresh.length === 0 ? "Runs" : `${countOf(fresh.length, isAtLeast)} new, Runs`);
  const ids = rows.map(({ id }) => id);
  rememberRuns(ids);
  const { marks, isLoading } = useMarksBetween(rows);
  const first = newest?.page_info;
  const total = first?.total_count;
  const filtered = Object.keys(filter).length > 0;
  const matching = filtered ? `${VIEWS[view].says}, filtered` : VIEWS[view].says;
  const says = q === "" ? matching : `${matching}, with “${q}”`;
  const selection = useSelection(listKey, ids, total ?? 0);
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
  const choose = (id: string, ranged: boolean) => {
    if (ranged) selection.add(range(id));
    else selection.toggle(id);
    setLast(id);
  };
  const counted = {
    n: total ?? 0,
    says: (total ?? 0) >= COUNTED_MAX ? `${count(COUNTED_MAX)} or more` : count(total ?? 0),
  };
  return (
    <>
      <PageHead
        acts={
          <>
            <AsCommand commands={() => commandsOf(queryOf(view, filter, q, Date.now()))} />
            <Link to="/replays" className={buttonClass({})}>
              Replays
            </Link>
          </>
        }
      >
        <h1>Runs</h1>
      </PageHead>
      <div className="bar">
        <Segments
          label="Which runs"
          value={view}
          onChange={onView}
          choices={VIEW_NAMES.map((each) => [each, VIEWS[each].name] as const)}
        />
        <BarStatus>
          {total !== undefined &&
            (total >= COUNTED_MAX
              ? `Showing ${ids.length} of ${count(COUNTED_MAX)} runs or more ${says}`
              : `Showing ${ids.length} of ${plural(total, "run")} ${says}`)}
        </BarStatus>
      </div>
      <div className="bar is-filters">
        <SearchRuns key={q} q={q} onSearch={onSearch} />
        <FilterBar filter={filter} onFilter={onFilter} />
        {filtered && (
          <button type="button" className="link end" onClick={() => onFilter({})}>
            Clear all
          </button>
        )}
        <span className={filtered ? "row" : "row end"}>
          <SavedViews list="runs" search={search} onOpen={onOpen} />
          <ColumnsMenu list="runs" columns={RUN_COLUMNS} />
        </span>
      </div>
      <div className="scroll" ref={scroll}>
        <NewRuns runs={fresh} isAtLeast={isAtLeast} onShow={show} />
        <ListState
          query={runs}
          waits={isLoading}
          what="The runs"
          empty={
            filtered && q === "" ? (
              <NoneMatch
                view={view}
                filter={filter}
                sayOf={(name) => filterInWords(name, filter, owners)}
                onFilter={onFilter}
              />
            ) : (
              <Empty title={view === "all" && q === "" ? "No run yet." : `No runs ${says}.`}>
                {filtered && <Button onClick={() => onFilter({})}>Clear the filters</Button>}
                {q !== "" && <SearchedUntil at={first?.search?.indexed_until_ms} />}
                {q !== "" && <Button onClick={() => onSearch("")}>Clear the search</Button>}
                {view !== "all" && <Button onClick={() => onView("all")}>Show all</Button>}
              </Empty>
            )
          }
        >
          {() => (
            <RunTable
              rows={rows}
              scroll={scroll}
              current={current}
              index={index}
              marks={marks}
              whole={!runs.hasNextPage}
              label="Runs"
              selection={{
                chosen: selection.chosen,
                onChoose: choose,
                onAll: (on) => (on ? selection.add(ids) : selection.none()),
              }}
            />
          )}
        </ListState>
      </div>
      {selection.size > 0 && (
        <SelectionBar
          selection={selection}
          rows={rows}
          total={counted}
          query={queryOf(view, filter, q, Date.now())}
          says={says}
        />
      )}
    </>
  );
}

/** The list as commands. Those of the terminal take no filter but words, a status and an owner. */
function commandsOf(query: Query): Command[] {
  const asked = Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  );
  return [
    { name: "curl", text: curlOf("GET", ["runs"], { query: asked }) },
    ...terminalLines(query).map((text) => ({ name: "Command line", text })),
  ];
}

function terminalLines({ status, owner_id: owner, q }: Query): CommandLine[] {
  if (q !== undefined) {
    return [
      status === undefined
        ? line`millrace runs search ${q}`
        : line`millrace runs search --status=${status} ${q}`,
    ];
  }
  if (owner === undefined) return [];
  return [
    status === undefined
      ? line`millrace runs list ${owner}`
      : line`millrace runs list --status=${status} ${owner}`,
  ];
}

/** Words are sent with the return key: each search is a request. */
function SearchRuns({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const [text, setText] = useState(q);
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ filter: () => field.current?.focus() });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim());
      }}
    >
      <Search
        ref={field}
        label="Search events, results, errors"
        keys="/"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") {
            onSearch("");
          }
        }}
      />
    </form>
  );
}

/** The index is made behind the runs. */
function SearchedUntil({ at }: { at: number | undefined }) {
  return at === undefined ? null : (
    <p className="dim">
      The newest runs searched were accepted <When at={at} />.
    </p>
  );
}
