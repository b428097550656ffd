import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { PAGE_MAX } from "~/api/queries";
import { Banner } from "~/ui/banner";
import { Log } from "~/ui/log";
import { PaneHead, Segments } from "~/ui/pane";

const ASK_MS = 2_000;

type Least = "all" | "warn" | "error";

/** The newest lines that the source logged, oldest first. */
export function SourceLog({
  source,
  docked = false,
  live,
}: {
  source: string;
  docked?: boolean;
  live: boolean;
}) {
  const [least, setLeast] = useState<Least>("all");
  const { data: lines, error } = useQuery({
    queryKey: ["source", source, "logs"],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/sources/{id}/logs", {
          params: { path: { id: source }, query: { limit: PAGE_MAX } },
          signal,
        }),
      ),
    refetchInterval: live ? ASK_MS : false,
  });
  const shown = (lines ?? [])
    .filter(({ level }) => least === "all" || level === "error" || level === least)
    .map(({ ts, level, text }) => ({ at: ts, level, text }))
    .toSorted((one, other) => one.at - other.at);
  return (
    <section className={docked ? "source-dock" : "source-left"} aria-label="Log">
      <PaneHead title="Log" hint={live ? "live, all runs" : "all runs"}>
        <Segments
          label="Lines"
          value={least}
          onChange={setLeast}
          choices={[
            ["all", "All"],
            ["warn", "Warnings"],
            ["error", "Errors"],
          ]}
        />
      </PaneHead>
      {error !== null ? (
        <div className="crash">
          <Banner kind="failed" title="The log could not be read">
            {sentence(error)}
          </Banner>
        </div>
      ) : (
        <Log
          lines={shown}
          label="Lines of the log"
          none={least === "all" ? "Nothing was logged." : "No such line among the newest."}
        />
      )}
    </section>
  );
}
