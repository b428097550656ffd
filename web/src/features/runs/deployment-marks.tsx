/** Rows between runs for each deployment; a save of `millrace dev` shows what the same event gave before and after. */

import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { GitCommitHorizontal } from "lucide-react";
import { client, data } from "~/api/client";
import { type Deployed, deployedQuery, SAVED_IN_DEV } from "~/api/deployments";
import type { RunRow } from "~/api/run-list";
import { runOf } from "~/api/runs";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { verdictWords } from "./compare";
import type { Mark } from "./marks";
import { pairOf } from "./twin";

/** Runs among which one event is looked for twice. */
const RUNS_MAX = 30;
const ASK_MS = 5_000;
/** Owners whose deployments a list of all runs shows: those of its newest rows. */
const OWNERS_MAX = 12;

type Marks = { marks: Mark[]; isLoading: boolean };

export type OwnerOfRuns = { id: string; isWorkflow: boolean };

/** Deployments between the rows of a list: of one workflow or source, or of all that it has runs of. */
export function useMarks(rows: readonly RunRow[], owner: OwnerOfRuns | undefined): Marks {
  const ofOne = useDeploymentMarks(owner);
  const ofAll = useMarksBetween(owner === undefined ? rows : []);
  return owner === undefined ? ofAll : ofOne;
}

function useDeploymentMarks(of: OwnerOfRuns | undefined): Marks {
  const { id: owner, isWorkflow } = of ?? { id: "", isWorkflow: true };
  const { data: all = [], isLoading } = useQuery({
    ...deployedQuery(owner, isWorkflow),
    enabled: of !== undefined,
    refetchInterval: ASK_MS,
  });
  const isDev = isWorkflow && all.some(({ message }) => message === SAVED_IN_DEV);
  const { data: runs = [] } = useQuery({
    queryKey: ["runs", owner, "twin"],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/workflows/{id}/runs", {
          params: { path: { id: owner }, query: { limit: RUNS_MAX } },
          signal,
        }),
      ),
    select: (records) => records.map(runOf),
    enabled: isDev,
  });
  const marks = all.map((deployed, at) =>
    markOf(
      deployed,
      <Content
        deployed={deployed}
        pair={
          deployed.message === SAVED_IN_DEV ? pairOf(runs, all[at + 1]?.id, deployed.id) : undefined
        }
      />,
    ),
  );
  return { marks, isLoading };
}

/** Deployments of all whose runs a list has, each with the name of what was deployed. */
function useMarksBetween(rows: readonly RunRow[]): Marks {
  // A test may be of a workflow that was never saved: nobody deployed it.
  const live = rows.filter(({ kind }) => kind !== "test");
  const owners = new Map(live.map((row) => [row.ownerId, row]));
  const found = useQueries({
    queries: [...owners.values()]
      .slice(0, OWNERS_MAX)
      .map(({ ownerId, isWorkflow }) => deployedQuery(ownerId, isWorkflow)),
  });
  const marks = found
    .flatMap(({ data: all = [] }) => all)
    .sort((one, other) => other.at - one.at)
    .map((deployed) =>
      markOf(
        deployed,
        <Content deployed={deployed} name={owners.get(deployed.owner)?.ownerName} />,
      ),
    );
  return { marks, isLoading: found.some(({ isLoading }) => isLoading) };
}

const markOf = ({ id, at, version, owner }: Deployed, content: Mark["content"]): Mark => ({
  id,
  at,
  version,
  owner,
  content,
});

function Content({
  deployed,
  name,
  pair,
}: {
  deployed: Deployed;
  /** Of what was deployed, where rows are of several. */
  name?: string | undefined;
  pair?: ReturnType<typeof pairOf>;
}) {
  const { id, owner, isWorkflow, version, message, by, at } = deployed;
  return (
    <span className="run-mark">
      <GitCommitHorizontal className="icon is-sm" aria-hidden="true" />
      {name !== undefined && <span className="cut">{name}</span>}
      <Tag>v{version}</Tag>
      <span className="cut">{message ?? "deployed"}</span>
      <span className="dim nowrap">
        {by !== undefined && (
          <>
            <bdi>{by}</bdi>,{" "}
          </>
        )}
        <When at={at} />
      </span>
      {version > 1 && (
        <Link
          to={isWorkflow ? "/workflows/$id/versions" : "/sources/$id/versions"}
          params={{ id: owner }}
          search={{ compare: id }}
          className="link nowrap"
        >
          View changes
        </Link>
      )}
      {pair !== undefined && (
        <span className="run-twin cut">
          Compared with the same event before:{" "}
          {pair.changed.length === 0
            ? "same result"
            : pair.changed
                .map(({ name, verdict }) => `${name} ${verdictWords[verdict]}`)
                .join(", ")}
          {", "}
          <Link
            to="/runs/compare"
            search={{ a: pair.before.id, b: pair.after.id }}
            className="link"
          >
            compare
          </Link>
        </span>
      )}
    </span>
  );
}
