/** Rows between runs for each deployment; a save of `millrace dev` shows what the same event gave before and after. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { GitCommitHorizontal } from "lucide-react";
import { body, client, data } from "~/api/client";
import { runOf } from "~/api/runs";
import type { Deployment } from "~/api/schema";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { verdictWords } from "./compare";
import type { Mark } from "./marks";
import { pairOf } from "./twin";

const MARKS_MAX = 50;
/** Runs among which one event is looked for twice. */
const RUNS_MAX = 30;
const ASK_MS = 5_000;
/** Message of the deployments that `millrace dev` makes. */
const DEV = "Saved in millrace dev";

export function useDeploymentMarks(workflow: string, isWorkflow: boolean): Mark[] {
  const { data: pages } = useInfiniteQuery({
    queryKey: ["workflow", workflow, "marks"],
    initialPageParam: undefined,
    queryFn: ({ signal }) =>
      body(
        client.GET("/v1/workflows/{id}/deployments", {
          params: {
            path: { id: workflow },
            query: { limit: MARKS_MAX, include: "id,version,message,made_by,created_at" },
          },
          signal,
        }),
      ),
    getNextPageParam: () => undefined,
    enabled: isWorkflow,
    refetchInterval: ASK_MS,
  });
  const all = pages?.pages.flatMap((page) => page.data) ?? [];
  const isDev = all.some(({ message }) => message === DEV);
  const { data: runs = [] } = useQuery({
    queryKey: ["runs", workflow, "twin"],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/workflows/{id}/runs", {
          params: { path: { id: workflow }, query: { limit: RUNS_MAX } },
          signal,
        }),
      ),
    select: (records) => records.map(runOf),
    enabled: isDev,
    refetchInterval: ASK_MS,
  });
  return all.map((deployment, at) => ({
    id: deployment.id,
    at: deployment.created_at * 1_000,
    version: deployment.version,
    content: (
      <Content
        deployment={deployment}
        pair={deployment.message === DEV ? pairOf(runs, all[at + 1]?.id, deployment.id) : undefined}
      />
    ),
  }));
}

function Content({
  deployment,
  pair,
}: {
  deployment: Pick<Deployment, "workflow_id" | "version" | "message" | "made_by" | "created_at">;
  pair: ReturnType<typeof pairOf>;
}) {
  const { version, message, made_by, created_at } = deployment;
  return (
    <span className="run-mark">
      <GitCommitHorizontal className="icon is-sm" aria-hidden="true" />
      <Tag>v{version}</Tag>
      <span className="cut">{message ?? "deployed"}</span>
      <span className="dim nowrap">
        {made_by?.name != null && <>{made_by.name}, </>}
        <When at={created_at * 1_000} />
      </span>
      {pair !== undefined && (
        <span className="run-twin cut">
          Same event as before:{" "}
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
