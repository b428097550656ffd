/** Dialog that confirms the cancelling of runs, with their number. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { Confirm } from "~/ui/dialog";
import { count, plural } from "~/ui/format";
import { say } from "~/ui/toast";
import type { Query } from "./run-filter";

/** As many as the server cancels at once. */
const AT_ONCE = 1_000;

type Wanted = { runs: readonly string[] } | { filter: Query };

export function CancelDialog({
  wanted,
  says,
  onClose,
  onDone,
}: {
  wanted: Wanted;
  says: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const queries = useQueryClient();
  const filter = "filter" in wanted ? { ...wanted.filter } : undefined;
  const counted = useQuery({
    queryKey: ["runs", "to-cancel", filter],
    queryFn: async ({ signal }) => {
      const found = await body(
        client.POST("/v1/runs/cancel", { body: { filter: { ...filter }, dry_run: true }, signal }),
      );
      return found.data.matching;
    },
    enabled: filter !== undefined,
    gcTime: 0,
  });
  const many = "runs" in wanted ? wanted.runs.length : counted.data;
  const cancel = useMutation({
    mutationFn: async () => {
      const [only, ...others] = "runs" in wanted ? wanted.runs : [];
      // A choice of runs needs more of a role than one run that is named.
      if (only !== undefined && others.length === 0) {
        await data(client.POST("/v1/runs/{id}/cancel", { params: { path: { id: only } } }));
        return { cancelled: 1, of: 1 };
      }
      const chosen = "runs" in wanted ? { ids: [...wanted.runs] } : wanted.filter;
      const done = await data(client.POST("/v1/runs/cancel", { body: { filter: { ...chosen } } }));
      return { cancelled: done.cancelled, of: many ?? done.matching };
    },
    onSuccess: ({ cancelled, of }) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      say({
        title: `${plural(cancelled, "run")} cancelled`,
        ...(cancelled < of
          ? { about: `${of === 1 ? "The run" : "The others"} continued or ended in the meantime.` }
          : {}),
        shape: "cancelled",
      });
      onDone();
    },
  });
  const error = cancel.error ?? counted.error;
  return (
    <Confirm
      open
      onClose={onClose}
      title={many === undefined ? "Cancel runs?" : `Cancel ${number(many)}?`}
      act={many === undefined ? "Cancel runs" : `Cancel ${number(many)}`}
      keep={many === 1 ? "Keep running" : "Keep running"}
      busy={cancel.isPending && "Cancelling…"}
      error={error === null ? undefined : sentence(error)}
      onConfirm={() => {
        if (many !== undefined && many > 0) cancel.mutate();
      }}
    >
      {many === undefined ? (
        error === null && <p className="dim">Counting…</p>
      ) : many === 0 ? (
        <p>None of the runs {says} is waiting any more.</p>
      ) : (
        <p>
          {number(many)} {says} {many === 1 ? "waits" : "wait"}, queued or paused, and{" "}
          {many === 1 ? "ends" : "end"} as cancelled. What {many === 1 ? "it" : "they"} did is not
          undone.
        </p>
      )}
    </Confirm>
  );
}

const number = (many: number) =>
  many >= AT_ONCE ? `${count(AT_ONCE)} runs or more` : plural(many, "run");
