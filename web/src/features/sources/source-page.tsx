/** Head of a source: its address, triggers, listeners and actions. Tabs are pages of their own. */

import "./source.css";
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { Fragment, type ReactNode, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { isObject, textOf } from "~/api/json";
import { ownersQuery, subscriptionsQuery, webhookNamesQuery } from "~/api/queries";
import type { Source } from "~/api/schema";
import { ActLink } from "~/shell/act-link";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { HeldByDev } from "~/shell/held-by-dev";
import { useRefusal, useSession } from "~/shell/session";
import { Starts } from "~/shell/starts";
import { TabBar } from "~/shell/tab-bar";
import { tallyOf } from "~/shell/tally";
import { useTitle } from "~/shell/title";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { SwitchRow } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { Crumbs, Fact, PageHead } from "~/ui/pane";
import { Tag, Tile } from "~/ui/tag";
import { say } from "~/ui/toast";
import { NextTick } from "./next-tick";
import { componentOfId, runsOfDayQuery, sourceQuery } from "./queries";
import { RunNow } from "./run-now";
import { startsOf } from "./trigger";

/** As many names as fit beside the other facts. */
const LISTENERS_SHOWN = 3;

export function SourcePage({ id, children }: { id: string; children: ReactNode }) {
  const { data: source } = useSuspenseQuery(sourceQuery(id));
  const { data: component } = useQuery(componentOfId(source.component_id));
  const { org } = useSession();
  const { data: subscriptions } = useQuery(subscriptionsQuery(org.id));
  useTitle(source.name);
  const endpoint = endpointOf(source);
  const listening = subscriptions?.filter(({ emitter_id }) => emitter_id === id) ?? [];
  const listeners = [...new Set(listening.map(({ listener_id }) => listener_id))];
  return (
    <>
      <PageHead acts={<Acts source={source} />}>
        <Crumbs>
          <Link to="/sources">Sources</Link>
          <span className="row">
            <Tile name={source.name} />
            <h1 className="cut">{source.name}</h1>
          </span>
        </Crumbs>
        <Active source={source} />
      </PageHead>
      <div className="source-top">
        {endpoint !== undefined && (
          <div className="row">
            <span className="dim">Endpoint</span>
            <code className="endpoint mono">{endpoint}</code>
            <Copy named text={endpoint} />
            <Copy
              named
              label="curl"
              text={line`curl ${endpoint} -H 'Content-Type: application/json' -d '{"hello": "world"}'`}
            />
          </div>
        )}
        <dl className="facts">
          {component !== undefined && (
            <Fact name="Component" wide>
              <span className="mono">{component.key ?? component.name ?? "code"}</span>{" "}
              {component.version !== null && <Tag>{component.version}</Tag>}
            </Fact>
          )}
          <Fact name="Runs">
            <Starts of={startsOf(source)} />
            {source.active && (
              <NextTick
                source={source}
                show={(time) => <span className="dim">, next tick {time}</span>}
              />
            )}
          </Fact>
          <Fact name="Listeners" wide>
            {listeners.length === 0 ? "none yet" : <Listeners ids={listeners} />}{" "}
            <ActLink to="/workflows/new" search={{ source: id }} needs="deploy" look="text">
              New workflow
            </ActLink>
          </Fact>
          <Fact name="Last 24 h" wide>
            <LastDay id={id} />
          </Fact>
        </dl>
        {!source.active && source.inactive_reason !== null && (
          <div className="source-reason">
            <Banner kind="waits" title="Off">
              {source.inactive_reason}
            </Banner>
          </div>
        )}
        <HeldByDev owner={id} isWorkflow={false} className="source-reason" />
        {isObject(source.made_from) && (
          <div className="source-reason">
            <Banner title={`Managed by project ${textOf(source.made_from.project) ?? ""}`}>
              The next <code className="mono">millrace apply</code> overwrites changes made here.
            </Banner>
          </div>
        )}
      </div>
      <TabBar label="Parts of the source">
        <Link
          to="/sources/$id"
          params={{ id }}
          className="tab"
          activeOptions={{ exact: true, includeSearch: false }}
        >
          Events
        </Link>
        <Link to="/sources/$id/runs" params={{ id }} className="tab">
          Runs
        </Link>
        <Link to="/sources/$id/logs" params={{ id }} className="tab">
          Logs
        </Link>
        <Link to="/sources/$id/configure" params={{ id }} className="tab">
          Configure
        </Link>
        <Link to="/sources/$id/versions" params={{ id }} className="tab">
          Versions
        </Link>
      </TabBar>
      {children}
    </>
  );
}

function LastDay({ id }: { id: string }) {
  const { data: stats } = useQuery(runsOfDayQuery(id));
  if (stats === undefined) return "…";
  const { all, failed } = tallyOf(stats);
  if (all === 0) return "no runs";
  return (
    <Link to="/sources/$id/runs" params={{ id }} className="quiet-link">
      {plural(all, "run")}, {failed === 0 ? "none failed" : `${count(failed)} failed`}
    </Link>
  );
}

/** Who listens, each a way to it; more than a few are counted. */
function Listeners({ ids }: { ids: readonly string[] }) {
  const { data: owners } = useQuery(ownersQuery);
  const { data: webhooks } = useQuery({
    ...webhookNamesQuery,
    enabled: ids.some((id) => id.startsWith("wh_")),
  });
  const link = (id: string): ReactNode => {
    const owner = owners?.get(id);
    const shared = { params: { id }, className: "quiet-link" };
    if (id.startsWith("wh_")) {
      return (
        <Link to="/webhooks/$id" {...shared}>
          {webhooks?.get(id) ?? "a webhook"}
        </Link>
      );
    }
    const name = owner?.name ?? id;
    return owner?.isWorkflow === false ? (
      <Link to="/sources/$id" {...shared}>
        {name}
      </Link>
    ) : (
      <Link to="/workflows/$id" {...shared}>
        {name}
      </Link>
    );
  };
  const rest = ids.length - LISTENERS_SHOWN;
  return (
    <>
      {ids.slice(0, LISTENERS_SHOWN).map((id, at) => (
        <Fragment key={id}>
          {at > 0 && ", "}
          {link(id)}
        </Fragment>
      ))}
      {rest > 0 && (
        <>
          {" "}
          <Link to="/listeners" className="quiet-link">
            and {count(rest)} more
          </Link>
        </>
      )}
    </>
  );
}

export function endpointOf(source: Source): string | undefined {
  for (const value of Object.values(source.configured_props)) {
    const endpoint = isObject(value) ? textOf(value.endpoint_url) : undefined;
    if (endpoint !== undefined) return endpoint;
  }
  return undefined;
}

function Active({ source }: { source: Source }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const change = useMutation({
    mutationFn: (active: boolean) =>
      data(
        client.PUT("/v1/sources/{id}", {
          params: { path: { id: source.id } },
          body: { active },
        }),
      ),
    onSuccess: (changed) => {
      queries.setQueryData(sourceQuery(source.id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["sources"] });
      say({
        title: changed.active ? `${changed.name} is active` : `${changed.name} is off`,
        act: { label: "Undo", onClick: () => change.mutate(!changed.active) },
      });
    },
    onError: (error) => say({ title: "Nothing was changed", about: sentence(error) }),
  });
  return (
    <SwitchRow
      label={source.active ? "Active" : "Off"}
      checked={change.isPending ? !source.active : source.active}
      refused={refused}
      disabled={change.isPending}
      onChange={(active) => change.mutate(active)}
    />
  );
}

function Acts({ source }: { source: Source }) {
  const [asks, setAsks] = useState(false);
  const refused = useRefusal("invoke");
  return (
    <>
      <AsCommand
        about={source.name}
        commands={() => [
          {
            name: "Command line",
            text: line`millrace events -f ${source.name_slug}\nmillrace logs -f ${source.name_slug}\nmillrace run ${source.name_slug}`,
          },
          {
            name: "curl, events",
            text: curlOf("GET", ["sources", source.id, "event_summaries"], {
              query: { expand: "event" },
            }),
          },
          {
            name: "curl, run now",
            text: curlOf("POST", ["sources", source.id, "run"], { body: {} }),
          },
        ]}
      />
      <Button icon={Play} refused={refused} onClick={() => setAsks(true)}>
        Run now
      </Button>
      {asks && <RunNow source={source} onClose={() => setAsks(false)} />}
    </>
  );
}
