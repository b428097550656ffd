/** The log of a source or workflow: the newest lines, oldest first, paged back and filtered by the server. */

import "./owner-log.css";
import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { body, client } from "~/api/client";
import { PAGE_MAX } from "~/api/queries";
import type { LogLine } from "~/api/schema";
import { useLive } from "~/api/stream";
import { cn } from "~/ui/cn";
import { Search } from "~/ui/field";
import { Log } from "~/ui/log";
import { PaneHead, Segments } from "~/ui/pane";
import { Select } from "~/ui/select";
import type { LogSearch } from "./log-search";
import { ReadFailed } from "./read-failed";

/** What the server is asked for, by the least level that is shown. */
const LEVELS = { warn: "warn,error", error: "error" } as const;

type Asked = { level?: string; text?: string; step?: string };

type Page = { data: LogLine[]; page_info: { start_cursor: string | null } };

/** The oldest line first: pages come the newest first. */
const inOrder = ({ pages }: InfiniteData<Page>) =>
  pages
    .toReversed()
    .flatMap(({ data }) =>
      data.map(({ ts, level, text, step }) => ({ at: ts, level, text, step })),
    );

const ALL_STEPS = "$all";

export function OwnerLog({
  owner,
  isWorkflow,
  steps = [],
  docked = false,
  live,
}: {
  owner: string;
  isWorkflow: boolean;
  /** Names of steps, whose lines alone can be shown. */
  steps?: readonly string[];
  docked?: boolean;
  live: boolean;
}) {
  const { level, text: found = "", step }: LogSearch = useSearch({ strict: false });
  // The address follows a moment later, which would move the cursor in the field to its end.
  const [text, setText] = useState(found);
  const navigate = useNavigate();
  const show = (filter: { [Name in keyof LogSearch]: LogSearch[Name] | undefined }) =>
    void navigate({
      to: ".",
      search: (before) => ({ ...before, ...filter }),
      replace: true,
      resetScroll: false,
    });
  const asked: Asked = {
    ...(level === undefined ? {} : { level: LEVELS[level] }),
    ...(text.trim() === "" ? {} : { text: text.trim() }),
    ...(step === undefined ? {} : { step }),
  };
  const log = useInfiniteQuery({
    queryKey: ["log", owner, asked],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) => {
      const query = { limit: PAGE_MAX, before: pageParam, ...asked };
      const params = { path: { id: owner }, query };
      return isWorkflow
        ? body(client.GET("/v1/workflows/{id}/logs", { params, signal }))
        : body(client.GET("/v1/sources/{id}/logs", { params, signal }));
    },
    getNextPageParam: (last: Page) =>
      last.data.length < PAGE_MAX ? undefined : (last.page_info.start_cursor ?? undefined),
    select: inOrder,
    placeholderData: (before) => before,
  });
  useLive(live ? `logs:${owner}` : undefined, ["log", owner]);
  const filtered = Object.keys(asked).length > 0;
  return (
    <section className={cn("owner-log", docked && "is-docked")} aria-label="Logs">
      <PaneHead title="Logs" hint={live ? "live, all runs" : "all runs"}>
        {!docked && (
          <Search
            label="Search lines"
            value={text}
            onChange={({ target: { value } }) => {
              setText(value);
              show({ text: value === "" ? undefined : value });
            }}
          />
        )}
        {steps.length > 1 && (
          <Select
            small
            aria-label="Step"
            value={step ?? ALL_STEPS}
            onChange={(name) => show({ step: name === ALL_STEPS ? undefined : name })}
            choices={[
              { value: ALL_STEPS, label: "All steps" },
              ...steps.map((name) => ({
                value: name,
                label: <span className="mono">{name}</span>,
              })),
            ]}
          />
        )}
        <Segments<"all" | "warn" | "error">
          label="Lines"
          value={level ?? "all"}
          onChange={(least) => show({ level: least === "all" ? undefined : least })}
          choices={[
            ["all", "All"],
            ["warn", "Warnings"],
            ["error", "Errors"],
          ]}
        />
      </PaneHead>
      {log.error !== null ? (
        <ReadFailed what="The logs" error={log.error} again={log.refetch} />
      ) : log.data === undefined ? (
        <div className="log" aria-busy="true" />
      ) : (
        <Log
          lines={log.data}
          label="Log lines"
          none={filtered ? "No matching lines." : "No log lines."}
          withSteps={isWorkflow}
          older={
            log.hasNextPage
              ? { busy: log.isFetchingNextPage, onWanted: () => void log.fetchNextPage() }
              : undefined
          }
        />
      )}
    </section>
  );
}
