/** Runs of all workflows and sources. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { body, client } from "~/api/client";
import { listedRowOf } from "~/api/run-list";
import { useLiveRuns } from "~/api/stream";
import { ListState } from "~/shell/list-state";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { count, plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { PageHead, Segments } from "~/ui/pane";
import { RunTable } from "./run-table";

const PAGE = 50;
/** Beside the stream, which may be lost. */
const ASK_MS = 15_000;
/** As far as the server counts. */
const COUNTED_MAX = 1_000;

const VIEWS = {
  all: { name: "All", says: "of all workflows and sources", query: {} },
  trouble: {
    name: "Failed or paused",
    says: "that failed or are paused",
    query: { status: "failed,paused" },
  },
  open: {
    name: "Not ended",
    says: "that have not ended",
    query: { status: "queued,running,paused" },
  },
  slow: { name: "Slower than 10 s", says: "that took longer than 10 s", query: { min_ms: 10_000 } },
  tests: { name: "Tests", says: "that were tests", query: { kind: "test" } },
} as const;

export type RunView = keyof typeof VIEWS;

const VIEW_NAMES: readonly RunView[] = ["all", "trouble", "open", "slow", "tests"];

export function isRunView(text: string): text is RunView {
  return VIEW_NAMES.some((view) => view === text);
}

const allRuns = (view: RunView) => ({
  queryKey: ["runs", "all", view],
  initialPageParam: undefined,
  queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
    body(
      client.GET("/v1/runs", {
        params: { query: { limit: PAGE, after: pageParam, ...VIEWS[view].query } },
        signal,
      }),
    ),
  getNextPageParam: (last: { data: unknown[]; page_info: { end_cursor: string | null } }) =>
    last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
  refetchInterval: ASK_MS,
});

export function AllRuns({ view, onView }: { view: RunView; onView: (view: RunView) => void }) {
  useTitle("Runs");
  useLiveRuns();
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  const runs = useInfiniteQuery(allRuns(view));
  const ids = runs.data?.pages.flatMap((page) => page.data.map(({ id }) => id)) ?? [];
  const { current, index } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  const total = runs.data?.pages[0]?.page_info.total_count;
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
        {total !== undefined && (
          <span className="dim end num" role="status">
            {total >= COUNTED_MAX
              ? `Showing ${ids.length} of ${count(COUNTED_MAX)} runs or more ${VIEWS[view].says}`
              : `Showing ${ids.length} of ${plural(total, "run")} ${VIEWS[view].says}`}
          </span>
        )}
      </div>
      <div className="scroll" ref={scroll}>
        <ListState
          query={runs}
          what="The runs"
          empty={
            <Empty title={view === "all" ? "No run yet." : `No runs ${VIEWS[view].says}.`}>
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
