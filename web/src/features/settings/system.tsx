/** State of the server: version, database, queue, processes. */

import "~/ui/field.css";
import "./settings.css";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { client, data } from "~/api/client";
import type { RunCounts } from "~/api/schema";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Banner, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { bytes, plural, rate } from "~/ui/format";
import { StatusMark } from "~/ui/status";
import { When } from "~/ui/time";

const EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
/** What there is to do comes first. */
const ORDER = ["failed", "warning", "ok"] as const;
const MARKS = {
  ok: { status: "succeeded", word: "OK" },
  warning: { status: "paused", word: "Warning" },
  failed: { status: "failed", word: "Failed" },
} as const;

/** Runs that ended in an hour, at the rate that fits their number. */
function throughput({ succeeded, failed, cancelled }: RunCounts): string {
  const ended = succeeded + failed + cancelled;
  return ended < 60 ? plural(ended, "run") : `${plural(ended, "run")}, ${rate(ended / 60)}`;
}

export function System() {
  useTitle("System");
  const refused = useRefusal("full");
  const query = useQuery({
    queryKey: ["system"],
    queryFn: ({ signal }) => data(client.GET("/v1/system", { signal })),
    enabled: refused === undefined,
    refetchInterval: EVERY_MS,
  });
  const { data: lastHour } = useQuery({
    queryKey: ["run-stats", "system"],
    queryFn: ({ signal }) => {
      const to = Date.now();
      const query = { from: to - HOUR_MS, to, bucket_ms: HOUR_MS };
      return data(client.GET("/v1/stats/runs", { params: { query }, signal }));
    },
    enabled: refused === undefined,
    refetchInterval: EVERY_MS,
  });
  if (refused !== undefined) return <p className="settings dim">{refused}</p>;
  const system = query.data;
  if (system === undefined) {
    return query.error === null ? (
      <SkeletonRows />
    ) : (
      <ReadFailed what="The server" error={query.error} again={query.refetch} />
    );
  }
  const { readiness, runs, hosts, walls } = system;
  return (
    <div className="settings scroll">
      {readiness.status !== "ready" && (
        <Banner
          kind={readiness.status === "degraded" ? "waits" : "failed"}
          title={
            readiness.status === "degraded" ? "The server is degraded" : "The server rejects events"
          }
        >
          {readiness.message}
        </Banner>
      )}
      <section className="settings-row">
        <h2>Server</h2>
        <dl className="fact-list">
          <Fact name="Version">{system.version}</Fact>
          <Fact name="Address">
            <span className="mono">{system.url}</span>
          </Fact>
          <Fact name="Started">
            <When at={system.started_at * 1000} />
          </Fact>
          <Fact name="Node.js">{system.node_version}</Fact>
          {readiness.status === "ready" && <Fact name="State">{readiness.message}</Fact>}
        </dl>
      </section>
      <section className="settings-row">
        <h2>Workload</h2>
        <dl className="fact-list">
          <Fact name="Runs in progress here">{runs.running}</Fact>
          <Fact name="Waiting for a run slot">{runs.waiting}</Fact>
          <Fact name="Unfinished, on all servers">
            {runs.unfinished ?? "the database does not respond"}
          </Fact>
          <Fact name="Throughput of this organization, last hour">
            {lastHour === undefined ? "–" : throughput(lastHour.total)}
          </Fact>
          <Fact name="Host processes">{hosts.with_code}</Fact>
          <Fact name="Blank hosts, ready to run code">{hosts.blank}</Fact>
          <Fact name="Server memory">
            {system.resident_bytes === null ? "unknown" : bytes(system.resident_bytes)}
          </Fact>
        </dl>
      </section>
      <section className="settings-row">
        <h2>Storage</h2>
        <dl className="fact-list">
          <Fact name="Database">
            {system.database === "sqlite"
              ? "SQLite, in a file on this server"
              : `Postgres, used by ${system.servers === 1 ? "this server alone" : `${system.servers} servers`}`}
          </Fact>
          <Fact name="Size on disk">
            {system.stored_bytes === null
              ? "the database does not respond"
              : bytes(system.stored_bytes)}
          </Fact>
          <Fact name="Free disk space">
            {system.free_bytes === null ? "unknown" : bytes(system.free_bytes)}
          </Fact>
        </dl>
      </section>
      <section className="settings-row">
        <h2>Component sandbox</h2>
        <div className="form-grid">
          <p>{walls.standing}</p>
          {walls.missing.map((missing) => (
            <Banner key={missing} kind="waits" title="A sandbox protection is missing">
              {missing}
            </Banner>
          ))}
          <p className="small dim">
            {system.egress_allow.length === 0
              ? "Components can reach public addresses only. --egress-allow allows others."
              : "Allowed by --egress-allow: "}
            {system.egress_allow.map((rule) => (
              <span key={rule} className="mono">
                {rule}{" "}
              </span>
            ))}
          </p>
        </div>
      </section>
      <section className="settings-row">
        <h2>Mail</h2>
        <p>
          {system.mail_server === null ? (
            "No mail server (--smtp-url). Mail stays in the outbox."
          ) : (
            <>
              Sent through <span className="mono">{system.mail_server}</span>
            </>
          )}
        </p>
      </section>
      <Checks />
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What `millrace doctor` finds: asked for, since the walls are tried with processes. */
function Checks() {
  const query = useQuery({
    queryKey: ["system", "checks"],
    queryFn: ({ signal }) => data(client.GET("/v1/system/checks", { signal })),
    enabled: false,
  });
  const checks = query.data?.toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  return (
    <section className="settings-row">
      <h2>Checks</h2>
      <div className="form-grid">
        <p className="small dim">
          Checks the sandbox, the database, the disk, mail and DNS as{" "}
          <span className="mono">millrace doctor</span> does on the server.
        </p>
        {query.error !== null && (
          <ReadFailed what="The checks" error={query.error} again={query.refetch} />
        )}
        {checks !== undefined && (
          <ul className="checks" aria-label="Checks">
            {checks.map(({ name, status, found, mend }) => (
              <li key={`${name} ${found}`}>
                <StatusMark {...MARKS[status]} />
                <div>
                  <b>{name}</b> <span className="dim">{found}</span>
                  {mend !== undefined && <p>{mend}</p>}
                </div>
              </li>
            ))}
          </ul>
        )}
        <p>
          <Button busy={query.isFetching && "Checking…"} onClick={() => void query.refetch()}>
            {checks === undefined ? "Run checks" : "Run checks again"}
          </Button>
        </p>
      </div>
    </section>
  );
}
