/** Earlier occurrences of a run's error: count, first version, and a link to its group. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { client, data } from "~/api/client";
import { PAGE_MAX } from "~/api/queries";
import type { RunDetail, RunError } from "~/api/runs";
import { Skeleton } from "~/ui/banner";
import { count } from "~/ui/format";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";

/** The group of a run's error: records of runs do not name it. */
const groupOfRun = (run: RunDetail, error: RunError) => ({
  queryKey: ["error-group", "of-run", run.id],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const params = { path: { id: run.ownerId }, query: { class: error.code, limit: PAGE_MAX } };
    const groups = run.isWorkflow
      ? await data(client.GET("/v1/workflows/{id}/error_groups", { params, signal }))
      : await data(client.GET("/v1/sources/{id}/error_groups", { params, signal }));
    const found =
      groups.find(({ last_run_id }) => last_run_id === run.id) ??
      groups.find(
        ({ step, frame }) =>
          step === (run.isWorkflow ? (error.step ?? "") : step) && error.stack.includes(frame),
      );
    if (found === undefined) return null;
    const path = { id: found.id };
    return await data(client.GET("/v1/error_groups/{id}", { params: { path }, signal }));
  },
  staleTime: 10_000,
  retry: false,
});

export function SeenBefore({ run, error }: { run: RunDetail; error: RunError }) {
  const { data: group, isLoading } = useQuery({
    ...groupOfRun(run, error),
    // Tests are in no group.
    enabled: run.kind === "live",
  });
  if (isLoading) {
    return (
      <p className="error-meta small" aria-busy="true">
        <Skeleton width={240} />
      </p>
    );
  }
  if (group === undefined || group === null) return null;
  const versions = group.versions.flatMap(({ version }) => version ?? []);
  return (
    <p className="error-meta small">
      Seen <span className="num">{count(group.count)}</span> {group.count === 1 ? "time" : "times"},
      first <When at={group.first_seen_ms} />
      {versions.length > 0 && (
        <>
          {" "}
          in <Tag>v{Math.min(...versions)}</Tag>
        </>
      )}
      {". "}
      <Link to="/errors/$group" params={{ group: group.id }} className="link">
        Open the group
      </Link>
    </p>
  );
}
