/** Runs of one source or workflow. */

import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { body, client } from "~/api/client";
import { ROW_FIELDS, rowOf } from "~/api/run-list";
import type { Status } from "~/api/status";
import { useLiveRuns } from "~/api/stream";
import { ColumnsMenu } from "~/shell/columns";
import { ListState } from "~/shell/list-state";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { useListKeys } from "~/ui/list-keys";
import { Segments } from "~/ui/pane";
import { useDeploymentMarks } from "./deployment-marks";
import { useHeldRuns } from "./held-runs";
import { NewRuns } from "./new-runs";
import { useRunPages } from "./pages";
import { rememberRuns } from "./run-order";
import { RUN_COLUMNS, RunTable } from "./run-table";

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
  useLiveRuns();
  const scroll = useRef<HTMLDivElement>(null);
  const { pages: runs, rows: all } = useRunPages({
    queryKey: ["runs", owner, status],
    read: (page, signal) => {
      const only = status === "all" ? {} : { status };
      const params = { path: { id: owner }, query: { ...page, include: ROW_FIELDS, ...only } };
      return isWorkflow
        ? body(client.GET("/v1/workflows/{id}/runs", { params, signal }))
        : body(client.GET("/v1/sources/{id}/runs", { params, signal }));
    },
    rowOf,
  });
  const [isBusy, setBusy] = useState(false);
  const list = { key: `${owner} ${status}`, box: scroll, isWhole: !runs.hasNextPage, isBusy };
  const { shown: rows, fresh, isAtLeast, show } = useHeldRuns(all, list);
  const ids = rows.map(({ id }) => id);
  rememberRuns(ids);
  const { marks, isLoading } = useDeploymentMarks(owner, isWorkflow);
  const { current, index } = useListKeys({
    ids,
    onOpen: (id) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  // The row under the keys stays where it is.
  if (index >= 0 !== isBusy) setBusy(index >= 0);
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
        <span className="end">
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
            <Empty title={status === "all" ? "No run yet." : `No run is ${status}.`}>
              {status !== "all" && <Button onClick={() => onStatus("all")}>Show all</Button>}
            </Empty>
          }
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
    </>
  );
}
