/**
 * Options of a deploy: send the chosen event through the new version, and finish failed runs with
 * it.
 */

import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { client, data } from "~/api/client";
import type { ErrorGroup } from "~/api/schema";
import { Checkbox } from "~/ui/field";
import { plural } from "~/ui/format";
import { useBuilder } from "./use-builder";

export type Then = { sends: boolean; finishes: boolean };

export function DeployThen({
  then,
  onThen,
  mended,
}: {
  then: Then;
  onThen: (then: Then) => void;
  /** Errors of a step that the deploy changes. */
  mended: ErrorGroup | undefined;
}) {
  const { test } = useBuilder();
  const isReal = test.event.id !== "sample" && !test.isReading;
  const { data: count } = useQuery({ ...unfinishedQuery(mended), enabled: mended !== undefined });
  if (!isReal && !count) return null;
  return (
    <fieldset className="deploy-then">
      <legend>After the deploy</legend>
      {isReal && (
        <Choice
          label={`run it with the chosen event: ${test.event.from}`}
          checked={then.sends}
          onChange={(sends) => onThen({ ...then, sends })}
        />
      )}
      {mended !== undefined && count !== undefined && count > 0 && (
        <Choice
          label={`finish the ${plural(count, "run")} that failed at ${mended.step} with ${mended.code}`}
          checked={then.finishes}
          onChange={(finishes) => onThen({ ...then, finishes })}
        />
      )}
    </fieldset>
  );
}

/** How many runs of a group would be finished: what succeeded or was replayed meanwhile is left out. */
const unfinishedQuery = (group: ErrorGroup | undefined) => ({
  queryKey: ["replay-count", "unfinished", group?.id],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const found = await data(
      client.POST("/v1/replays", {
        body: {
          workflow_id: group?.workflow_id ?? "",
          group: group?.id ?? "",
          from_failed: true,
          dry_run: true,
        },
        signal,
      }),
    );
    return found.total ?? 0;
  },
  gcTime: 0,
});

function Choice({
  label,
  checked,
  onChange,
}: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <span className="toggle-row">
      <Checkbox id={id} checked={checked} onChange={onChange} />
      <label htmlFor={id}>{label}</label>
    </span>
  );
}
