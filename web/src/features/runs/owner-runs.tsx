/** Runs of one source or workflow. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { body, client } from "~/api/client";
import { ROW_FIELDS, rowOf } from "~/api/run-list";
import type { Status } from "~/api/status";
import { ReadFailed } from "~/shell/read-failed";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { useListKeys } from "~/ui/list-keys";
import { Segments } from "~/ui/pane";
import { useDeploymentMarks } from "./deployment-marks";
import { useFresh } from "./fresh";
import { NewBar } from "./new-bar";
import { rememberRuns } from "./run-order";
import { RunTable } from "./run-table";

const PAGE = 50;
const ASK_MS = 3_000;

type Filter = Status | "all";

export function OwnerRuns({
  owner,
  isWorkflow,
  status,
  onStatus,
}: {
  owner: string;
  isWorkflow: boolean;
  status: Filter;
  onStatus: (status: Filter) => void;
}) {
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  const runs = useInfiniteQuery({
    queryKey: ["runs", owner, status],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) => {
      const params = {
        path: { id: owner },
        query: {
          limit: PAGE,
          include: ROW_FIELDS,
          after: pageParam,
          ...(status === "all" ? {} : { status }),
        },
      };
      return isWorkflow
        ? body(client.GET("/v1/workflows/{id}/runs", { params, signal }))
        : body(client.GET("/v1/sources/{id}/runs", { params, signal }));
    },
    getNextPageParam: (last) =>
      last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
    refetchInterval: ASK_MS,
  });
  const all = runs.data?.pages.flatMap((page) => page.data.map(rowOf)) ?? [];
  const { shown: rows, fresh, show } = useFresh(all, scroll, false);
  const ids = rows.map(({ id }) => id);
  rememberRuns(ids);
  const marks = useDeploymentMarks(owner, isWorkflow);
  const { current, index } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  return (
    <>
      <div className="bar">
        <Segments
          label="Status"
          value={status}
          onChange={onStatus}
          choices={[
            ["all", "All"],
            ["failed", "Failed"],
            ["running", "Running"],
            ["succeeded", "Succeeded"],
          ]}
        />
      </div>
      <div className="scroll" ref={scroll}>
        <NewBar fresh={fresh} onShow={show} />
        {runs.isPending && <SkeletonRows />}
        {runs.error !== null && (
          <ReadFailed what="The runs" error={runs.error} again={runs.refetch} />
        )}
        {runs.isSuccess && rows.length === 0 && (
          <Empty title={status === "all" ? "No run yet." : `No run is ${status}.`}>
            {status !== "all" && <Button onClick={() => onStatus("all")}>Show all</Button>}
          </Empty>
        )}
        {rows.length > 0 && (
          <RunTable
            rows={rows}
            scroll={scroll}
            current={current}
            index={index}
            bare
            marks={marks}
            whole={!runs.hasNextPage}
            label="Runs"
          />
        )}
        {runs.hasNextPage && (
          <div className="list-end">
            <Button
              busy={runs.isFetchingNextPage && "Reading…"}
              onClick={() => void runs.fetchNextPage()}
            >
              Show more
            </Button>
          </div>
        )}
      </div>
    </>
  );
}
