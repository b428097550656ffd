/** Runs of all workflows and sources. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { body, client } from "~/api/client";
import { listedRowOf } from "~/api/run-list";
import { useLiveRuns } from "~/api/stream";
import { ListState } from "~/shell/list-state";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Search } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { PageHead, Segments } from "~/ui/pane";
import { When } from "~/ui/time";
import { RunTable } from "./run-table";
import { type RunView, VIEW_NAMES, VIEWS } from "./views";

const PAGE = 50;
/** Beside the stream, which may be lost. */
const ASK_MS = 15_000;
/** As far as the server counts. */
const COUNTED_MAX = 1_000;

const allRuns = (view: RunView, q: string) => ({
  queryKey: ["runs", "all", view, q],
  initialPageParam: undefined,
  queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
    body(
      client.GET("/v1/runs", {
        params: {
          query: {
            limit: PAGE,
            after: pageParam,
            ...VIEWS[view].query,
            ...(q === "" ? {} : { q }),
          },
        },
        signal,
      }),
    ),
  getNextPageParam: (last: { data: unknown[]; page_info: { end_cursor: string | null } }) =>
    last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
  refetchInterval: ASK_MS,
});

type AllRunsProps = {
  view: RunView;
  onView: (view: RunView) => void;
  q: string;
  onSearch: (q: string) => void;
};

export function AllRuns({ view, onView, q, onSearch }: AllRunsProps) {
  useTitle("Runs");
  useLiveRuns();
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  const runs = useInfiniteQuery(allRuns(view, q));
  const ids = runs.data?.pages.flatMap((page) => page.data.map(({ id }) => id)) ?? [];
  const { current, index } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  const first = runs.data?.pages[0]?.page_info;
  const total = first?.total_count;
  const says = q === "" ? VIEWS[view].says : `${VIEWS[view].says}, with “${q}”`;
  return (
    <>
      <PageHead>
        <h1>Runs</h1>
      </PageHead>
      <div className="bar">
        <Segments
          label="Which runs"
          value={view}
          onChange={onView}
          choices={VIEW_NAMES.map((each) => [each, VIEWS[each].name] as const)}
        />
        <SearchRuns key={q} q={q} onSearch={onSearch} />
        {total !== undefined && (
          <span className="dim end num" role="status">
            {total >= COUNTED_MAX
              ? `Showing ${ids.length} of ${count(COUNTED_MAX)} runs or more ${says}`
              : `Showing ${ids.length} of ${plural(total, "run")} ${says}`}
          </span>
        )}
      </div>
      <div className="scroll" ref={scroll}>
        <ListState
          query={runs}
          what="The runs"
          empty={
            <Empty title={view === "all" && q === "" ? "No run yet." : `No runs ${says}.`}>
              {q !== "" && <SearchedUntil at={first?.search?.indexed_until_ms} />}
              {q !== "" && <Button onClick={() => onSearch("")}>Clear the search</Button>}
              {view !== "all" && <Button onClick={() => onView("all")}>Show all</Button>}
            </Empty>
          }
        >
          {(items) => (
            <RunTable
              rows={items.map(listedRowOf)}
              scroll={scroll}
              current={current}
              index={index}
              label="Runs"
            />
          )}
        </ListState>
      </div>
    </>
  );
}

/** Words are sent with the return key: each search is a request. */
function SearchRuns({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const [text, setText] = useState(q);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim());
      }}
    >
      <Search
        label="Search events, results, errors"
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
