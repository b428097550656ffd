/** The sources of the organization. */

import "~/ui/table.css";
import "./list.css";
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useRef } from "react";
import { accountQuery, subscriptionsQuery } from "~/api/queries";
import type { Source } from "~/api/schema";
import { ActLink } from "~/shell/act-link";
import { type Column, ColumnsMenu, useColumns } from "~/shell/columns";
import { ShowMore, useFiltered } from "~/shell/list-state";
import { ReadFailed } from "~/shell/read-failed";
import { RunsOfDay } from "~/shell/runs-of-day";
import { useRefusal, useSession } from "~/shell/session";
import { useShortcuts } from "~/shell/shortcuts";
import { Starts } from "~/shell/starts";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { cn } from "~/ui/cn";
import { Search } from "~/ui/field";
import { plural } from "~/ui/format";
import { BarStatus, PageHead, Segments } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { type RowRef, VirtualRows } from "~/ui/virtual-rows";
import { accountsIn, appOf } from "./apps";
import { FindSource } from "./find";
import { appsOfAccountsQuery, sourcesQuery } from "./queries";
import type { SourceState } from "./states";
import { startsOf } from "./trigger";

const ROW_HEIGHT = 33;
const COLUMNS: readonly Column[] = [
  { name: "app", label: "App" },
  { name: "state", label: "State" },
  { name: "starts", label: "Starts" },
  { name: "runs", label: "Runs, 24 h" },
  { name: "listeners", label: "Listeners" },
  { name: "event", label: "Last event" },
];

type Filter = { q: string; state: SourceState | undefined };

export function SourceList({
  q,
  state,
  onFilter,
}: Filter & { onFilter: (filter: Filter) => void }) {
  useTitle("Sources");
  const { org } = useSession();
  const sources = useInfiniteQuery(sourcesQuery);
  const { data: subscriptions } = useQuery(subscriptionsQuery(org.id));
  const field = useRef<HTMLInputElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  useShortcuts({ filter: () => field.current?.focus() });
  const columns = useColumns("sources", COLUMNS);
  const all = sources.data?.pages.flatMap((page) => page.data) ?? [];
  const words = q.toLowerCase();
  const listeners = new Map<string, number>();
  for (const { emitter_id } of subscriptions ?? []) {
    listeners.set(emitter_id, (listeners.get(emitter_id) ?? 0) + 1);
  }
  const isOf = ({ id, active }: Source) =>
    state === undefined ||
    (state === "unheard" ? !listeners.has(id) : active === (state === "active"));
  const shown = all.filter(
    (source) =>
      isOf(source) &&
      (source.name.toLowerCase().includes(words) || source.id.toLowerCase() === words),
  );
  const filtered = useFiltered(sources, words !== "" || state !== undefined, "source");
  const isNoneYet = shown.length === 0 && filtered.reads;
  // Who is heard is not known yet.
  const comes =
    sources.isPending || isNoneYet || (state === "unheard" && subscriptions === undefined);
  return (
    <>
      <PageHead
        acts={
          <ActLink to="/sources/new" needs="deploy" look="primary" icon={Plus}>
            New source
          </ActLink>
        }
      >
        <h1>Sources</h1>
      </PageHead>
      <div className="bar">
        <Search
          ref={field}
          wide
          label="Search names"
          keys="/"
          value={q}
          onChange={(event) => onFilter({ q: event.target.value, state })}
        />
        <Segments
          label="State"
          value={state ?? "all"}
          onChange={(next) => onFilter({ q, state: next === "all" ? undefined : next })}
          choices={[
            ["all", "All"],
            ["active", "Active"],
            ["inactive", "Off"],
            ["unheard", "No listeners"],
          ]}
        />
        <BarStatus>{sources.isSuccess && filtered.words(shown.length)}</BarStatus>
        <ColumnsMenu list="sources" columns={COLUMNS} />
      </div>
      <div className="scroll" ref={scroll}>
        {comes && <SkeletonRows />}
        {sources.error !== null && (
          <ReadFailed what="The sources" error={sources.error} again={sources.refetch} />
        )}
        {sources.isSuccess && all.length === 0 && <None />}
        {!comes && all.length > 0 && shown.length === 0 && (
          <Empty title={`None of ${filtered.of} match.`}>
            <Button onClick={() => onFilter({ q: "", state: undefined })}>Clear filters</Button>
          </Empty>
        )}
        {!comes && shown.length > 0 && (
          <table className={cn("tbl t-sources", columns.className)} aria-label="Sources">
            <thead>
              <tr className="tr is-head">
                <th>Name</th>
                <th className="c-app">App</th>
                <th className="c-state">State</th>
                <th className="c-starts">Starts</th>
                <th className="c-runs">Runs, 24 h</th>
                <th className="c-listeners">Listeners</th>
                <th className="is-right c-event">Last event</th>
              </tr>
            </thead>
            <tbody>
              <VirtualRows
                count={shown.length}
                height={ROW_HEIGHT}
                scroll={scroll}
                keyOf={(at) => shown[at]?.id ?? String(at)}
              >
                {(at, row) => {
                  const source = shown[at];
                  return (
                    source !== undefined && (
                      <Row row={row} source={source} listeners={listeners.get(source.id) ?? 0} />
                    )
                  );
                }}
              </VirtualRows>
            </tbody>
          </table>
        )}
        <ShowMore query={sources} />
      </div>
    </>
  );
}

function Row({ row, source, listeners }: { row: RowRef; source: Source; listeners: number }) {
  return (
    <tr {...row} className="tr">
      <td className="row">
        <Tile name={source.name} />
        <Link to="/sources/$id" params={{ id: source.id }} className="row-link name cut">
          {source.name}
        </Link>
      </td>
      <td className="mid cut c-app">
        <App source={source} />
      </td>
      <td className="cut c-state">
        {source.active ? (
          <span className="status">
            <Glyph status="succeeded" />
            Active
          </span>
        ) : (
          <span className="status" title={source.inactive_reason ?? undefined}>
            <Glyph status="cancelled" />
            <span className="cut">
              Off
              {source.inactive_reason !== null && (
                <span className="dim small"> {source.inactive_reason}</span>
              )}
            </span>
          </span>
        )}
      </td>
      <td className="mid cut c-starts">
        <Starts of={startsOf(source)} />
      </td>
      <td className="c-runs">
        <RunsOfDay stats={source.stats} name={source.name} />
      </td>
      <td className="mid c-listeners">
        {listeners === 0 ? <span className="dim">none</span> : plural(listeners, "listener")}
      </td>
      <td className="dim is-right above c-event">
        <LastEvent source={source} />
      </td>
    </tr>
  );
}

/** Apps of its accounts; an account beyond the page of the newest is asked for alone. */
function App({ source }: { source: Source }) {
  const { data: newest } = useQuery(appsOfAccountsQuery);
  const accounts = accountsIn(source);
  const beyond = accounts.filter((id) => newest?.isWhole === false && !newest.apps.has(id));
  const others = useQueries({
    queries: beyond.map((id) => ({ ...accountQuery(id), staleTime: 30_000 })),
  });
  if (newest === undefined) return null;
  const apps = new Map(newest.apps);
  for (const { data: account } of others) {
    if (account !== undefined) apps.set(account.id, account.app.name);
  }
  return appOf(accounts, apps);
}

/** When it emitted last; a failure since then is what somebody must see. */
function LastEvent({ source: { last_event: event, last_error: error } }: { source: Source }) {
  if (error && error.at_ms > (event?.at_ms ?? 0)) {
    return (
      <Link to="/runs/$id" params={{ id: error.run_id }} className="quiet-link failed-text">
        failed <When at={error.at_ms} />
      </Link>
    );
  }
  return event ? <When at={event.at_ms} /> : "none yet";
}

/** The first source is found at once: the examples need no account. */
function None() {
  const refused = useRefusal("deploy");
  return (
    <>
      <Empty title="No sources yet.">
        <p>A source emits events from requests, timers or an app.</p>
        {refused !== undefined && <p>{refused}</p>}
      </Empty>
      <FindSource first="" aside />
    </>
  );
}
