/** Runs that failed with an error of one group, with the deployments between them. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { body, client } from "~/api/client";
import { pagesOf } from "~/api/queries";
import { listedRowOf } from "~/api/run-list";
import { useLiveRuns } from "~/api/stream";
import { ListState } from "~/shell/list-state";
import { Empty } from "~/ui/banner";
import { useListKeys } from "~/ui/list-keys";
import { useMarksBetween } from "./deployment-marks";
import { rememberRuns } from "./run-order";
import { RunTable } from "./run-table";

const runsOfGroup = (group: string) =>
  pagesOf(
    ["runs", "of-group", group, "all"],
    (query, signal) =>
      body(client.GET("/v1/runs", { params: { query: { ...query, group } }, signal })),
    50,
  );

export function GroupRuns({ group }: { group: string }) {
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  const runs = useInfiniteQuery(runsOfGroup(group));
  useLiveRuns();
  const rows = runs.data?.pages.flatMap((page) => page.data.map(listedRowOf)) ?? [];
  const ids = rows.map(({ id }) => id);
  rememberRuns(ids);
  const { marks, isLoading } = useMarksBetween(rows);
  const { current, index } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  return (
    <div className="scroll" ref={scroll}>
      <ListState
        query={runs}
        waits={isLoading}
        what="The runs"
        empty={<Empty title="Its runs are not kept any more." />}
      >
        {() => (
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
      </ListState>
    </div>
  );
}
