/**
 * Map of sources, workflows and webhooks with their subscriptions, and the reason why any of them
 * is idle.
 */

import "./map.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { textOf } from "~/api/json";
import { useLiveRuns } from "~/api/stream";
import { ReadFailed } from "~/shell/read-failed";
import { RecordLink } from "~/shell/record-link";
import { useSession } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { cn } from "~/ui/cn";
import { clock, count, plural } from "~/ui/format";
import { PageHead, PaneHead } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { Until } from "~/ui/time";
import type { Edge, Kind, MillMap, Wheel } from "./model";
import { lastEventsQuery, mapQuery, SHOWN_MAX } from "./queries";

const HEADS: readonly [Kind, string][] = [
  ["source", "Sources"],
  ["workflow", "Workflows"],
  ["webhook", "Webhooks"],
];
/** Height of a wheel's row, as in the style. */
const ROW = 56;

export function MapPage({
  chosen,
  onChoose,
}: {
  chosen: string | undefined;
  onChoose: (id: string | undefined) => void;
}) {
  useTitle("Map");
  useLiveRuns();
  const { org } = useSession();
  const map = useQuery(mapQuery(org.id));
  const wheels = map.data === undefined ? [] : HEADS.flatMap(([kind]) => map.data.columns[kind]);
  const wheel = wheels.find(({ id }) => id === chosen);
  return (
    <>
      <PageHead>
        <h1>Map</h1>
        <span className="dim only-wide">
          Event flow, with the runs that ended{" "}
          {map.data?.countedFrom === undefined
            ? "in the last hour"
            : `accepted since ${clock(map.data.countedFrom)}`}
          {map.data?.isWhole === false && `, at most ${SHOWN_MAX} of each kind`}
        </span>
      </PageHead>
      {map.error !== null && map.data === undefined ? (
        <ReadFailed what="The map" error={map.error} again={map.refetch} />
      ) : map.data === undefined ? (
        <SkeletonRows />
      ) : wheels.length === 0 ? (
        <Empty title="No sources or workflows yet.">
          <Link to="/" className="link">
            Three ways to start
          </Link>
        </Empty>
      ) : (
        <div className={cn("map", wheel !== undefined && "has-pane")}>
          <Wheels map={map.data} chosen={wheel?.id} onChoose={onChoose} />
          {wheel !== undefined && <About wheel={wheel} wheels={wheels} edges={map.data.edges} />}
        </div>
      )}
    </>
  );
}

function Wheels({
  map,
  chosen,
  onChoose,
}: {
  map: MillMap;
  chosen: string | undefined;
  onChoose: (id: string | undefined) => void;
}) {
  const rows = Math.max(...HEADS.map(([kind]) => map.columns[kind].length));
  return (
    <section
      className="map-scroll scroll"
      tabIndex={0}
      aria-label="Sources, workflows and webhooks"
    >
      <div className="map-columns">
        <Lines map={map} rows={rows} chosen={chosen} />
        {HEADS.map(([kind, name]) => (
          <section key={kind} className={`map-column is-${kind}`} aria-label={name}>
            <h2 className="small dim">
              {name} <span className="num">{count(map.columns[kind].length)}</span>
            </h2>
            <ul>
              {map.columns[kind].map((wheel) => (
                <li key={wheel.id}>
                  <WheelButton
                    wheel={wheel}
                    chosen={wheel.id === chosen}
                    onChoose={() => onChoose(wheel.id === chosen ? undefined : wheel.id)}
                  />
                </li>
              ))}
              {map.columns[kind].length === 0 && <li className="map-none small dim">none</li>}
            </ul>
          </section>
        ))}
      </div>
    </section>
  );
}

function WheelButton({
  wheel,
  chosen,
  onChoose,
}: {
  wheel: Wheel;
  chosen: boolean;
  onChoose: () => void;
}) {
  const { name, still, until, runs, failed } = wheel;
  return (
    <button
      type="button"
      className={cn("wheel", still !== undefined && "is-still")}
      aria-pressed={chosen}
      onClick={onChoose}
    >
      <Tile name={name} />
      <span className="wheel-text">
        <span className="name cut">{name}</span>
        <span className="small cut">
          {still !== undefined ? (
            <>
              {still}
              {until !== undefined && (
                <>
                  , next attempt <Until at={until} />
                </>
              )}
            </>
          ) : wheel.kind === "webhook" ? (
            "delivering"
          ) : (
            <>
              {runs === 0 ? "no runs" : plural(runs, "run")}
              {failed > 0 && <span className="failed-text">, {count(failed)} failed</span>}
            </>
          )}
        </span>
      </span>
      <Glyph
        status={
          still !== undefined
            ? "cancelled"
            : failed > 0
              ? "failed"
              : runs > 0
                ? "succeeded"
                : "waiting"
        }
        small
      />
    </button>
  );
}

/** Lines between the columns; the lists beside say the same in words. */
function Lines({ map, rows, chosen }: { map: MillMap; rows: number; chosen: string | undefined }) {
  const place = new Map<string, { column: number; y: number }>();
  HEADS.forEach(([kind], column) => {
    map.columns[kind].forEach(({ id }, at) => {
      place.set(id, { column, y: (at + 0.5) * ROW });
    });
  });
  // Columns take 4 parts each, the spaces between them 2: 16 in all.
  const left = (column: number) => column * 6;
  const path = ({ from, to }: Edge): string | undefined => {
    const [a, b] = [place.get(from), place.get(to)];
    if (a === undefined || b === undefined) return undefined;
    if (a.column === b.column) {
      const x = left(a.column) + 4;
      return `M${x} ${a.y} C${x + 1.2} ${a.y} ${x + 1.2} ${b.y} ${x} ${b.y}`;
    }
    const [x1, x2] =
      a.column < b.column
        ? [left(a.column) + 4, left(b.column)]
        : [left(a.column), left(b.column) + 4];
    const middle = (x1 + x2) / 2;
    return `M${x1} ${a.y} C${middle} ${a.y} ${middle} ${b.y} ${x2} ${b.y}`;
  };
  return (
    <svg
      className="map-lines"
      viewBox={`0 0 16 ${Math.max(1, rows) * ROW}`}
      preserveAspectRatio="none"
      style={{ height: rows * ROW }}
      aria-hidden="true"
    >
      {map.edges.map((edge) => {
        const d = path(edge);
        const on = edge.from === chosen || edge.to === chosen;
        return (
          d !== undefined && (
            <path
              key={`${edge.from} ${edge.to} ${edge.says}`}
              d={d}
              className={cn(on && "is-on", edge.says === "errors" && "is-errors")}
            />
          )
        );
      })}
    </svg>
  );
}

function About({
  wheel,
  wheels,
  edges,
}: {
  wheel: Wheel;
  wheels: readonly Wheel[];
  edges: readonly Edge[];
}) {
  const { data: events } = useQuery({
    ...lastEventsQuery(wheel.id),
    enabled: wheel.kind !== "webhook",
  });
  const nameOf = (id: string) => wheels.find((each) => each.id === id)?.name ?? id;
  const [into, out] = [
    edges.filter(({ to }) => to === wheel.id),
    edges.filter(({ from }) => from === wheel.id),
  ];
  return (
    <aside className="map-pane scroll" aria-label={wheel.name}>
      <PaneHead title={<RecordLink of={wheel} className="link" />} hint={wheel.kind} />
      <div className="map-about">
        {wheel.still !== undefined && <p>Not running: {wheel.still}.</p>}
        <h3 className="small dim">Receives from</h3>
        <Joined all={into.map(({ from, says }) => ({ name: nameOf(from), says }))} />
        <h3 className="small dim">Listeners</h3>
        <Joined all={out.map(({ to, says }) => ({ name: nameOf(to), says }))} />
        {wheel.kind !== "webhook" && (
          <>
            <h3 className="small dim">Recent events</h3>
            {events === undefined ? (
              <p className="dim">Loading…</p>
            ) : events.length === 0 ? (
              <p className="dim">None yet.</p>
            ) : (
              <ul aria-label="Recent events">
                {events.map(({ id, indexed_at_ms, metadata }) => (
                  <li key={id} className="row">
                    <span className="num dim">{clock(indexed_at_ms)}</span>
                    <span className="cut">{textOf(metadata.summary) ?? id}</span>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </div>
    </aside>
  );
}

function Joined({ all }: { all: readonly { name: string; says: string }[] }) {
  if (all.length === 0) return <p className="dim">None.</p>;
  return (
    <ul>
      {all.map(({ name, says }) => (
        <li key={`${name} ${says}`} className="row">
          <span className="cut">{name}</span> <span className="small dim">{says}</span>
        </li>
      ))}
    </ul>
  );
}
