/** Runs that failed with an error of one group, with the deployments between them. */

import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { body, client } from "~/api/client";
import { listedRowOf } from "~/api/run-list";
import { useLiveRuns } from "~/api/stream";
import { ListState } from "~/shell/list-state";
import { Empty } from "~/ui/banner";
import { useListKeys } from "~/ui/list-keys";
import { useMarksBetween } from "./deployment-marks";
import { useHeldRuns } from "./held-runs";
import { NewRuns } from "./new-runs";
import { useRunPages } from "./pages";
import { rememberRuns } from "./run-order";
import { RunTable } from "./run-table";

export function GroupRuns({ group }: { group: string }) {
  const navigate = useNavigate();
  const scroll = useRef<HTMLDivElement>(null);
  useLiveRuns();
  const { pages: runs, rows: all } = useRunPages({
    queryKey: ["runs", "of-group", group, "all"],
    read: (query, signal) =>
      body(client.GET("/v1/runs", { params: { query: { ...query, group } }, signal })),
    rowOf: listedRowOf,
  });
  const [isBusy, setBusy] = useState(false);
  const list = { key: group, box: scroll, isWhole: !runs.hasNextPage, isBusy };
  const { shown: rows, fresh, isAtLeast, show } = useHeldRuns(all, list);
  const ids = rows.map(({ id }) => id);
  rememberRuns(ids);
  const { marks, isLoading } = useMarksBetween(rows);
  const { current, index } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  // The row under the keys stays where it is.
  if (index >= 0 !== isBusy) setBusy(index >= 0);
  return (
    <div className="scroll" ref={scroll}>
      <NewRuns runs={fresh} isAtLeast={isAtLeast} onShow={show} />
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
