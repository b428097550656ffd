/** Versions of a source or a workflow: their list, two of them compared, and going back to one with the difference first. */

import "~/ui/table.css";
import "./versions.css";
import { GitCompare, History } from "lucide-react";
import { type ReactNode, useState } from "react";
import { sentence } from "~/api/errors";
import { Banner, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { cn } from "~/ui/cn";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { count } from "~/ui/format";
import { Select } from "~/ui/select";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { ReadFailed } from "./read-failed";
import { useRefusal } from "./session";

export type Version = {
  id: string;
  version: number;
  message: string | null;
  made_by: { name: string | null } | null;
  /** Epoch seconds. */
  created_at: number;
};

/** Live runs of a version, by how they ended. */
type VersionRuns = { succeeded: number; failed: number; cancelled: number; unfinished: number };

/** How often a version ran, and the share that failed. */
export function runsInWords(runs: VersionRuns | undefined): string {
  if (runs === undefined) return "";
  const total = runs.succeeded + runs.failed + runs.cancelled + runs.unfinished;
  if (total === 0) return "none";
  if (runs.failed === 0) return count(total);
  const share = Math.round((100 * runs.failed) / total);
  const shown = runs.failed === total ? 100 : Math.min(99, Math.max(1, share));
  return `${count(total)}, ${count(runs.failed)} failed (${share === 0 ? "under 1" : shown} %)`;
}

/** Newest first, as the API gives them. */
export function VersionTable<V extends Version>({
  items,
  live,
  about,
  runs,
  onCompare,
  onBack,
}: {
  items: readonly V[];
  /** Id of the version that runs. */
  live: string | undefined;
  /** Says what a version without a message holds. */
  about?: (version: V) => string;
  /** How often a version ran, where that is known. */
  runs?: (version: V) => string;
  onCompare: (version: V) => void;
  onBack: (version: V) => void;
}) {
  const refused = useRefusal("deploy");
  return (
    <table className={cn("tbl t-versions", runs !== undefined && "has-runs")} aria-label="Versions">
      <thead>
        <tr className="tr is-head">
          <th>Version</th>
          <th>Message</th>
          <th>Deployed</th>
          {runs !== undefined && <th title="Of the newest 10,000 runs">Live runs</th>}
          <th className="is-right">
            <span className="sr">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((each) => (
          <tr className="tr" key={each.id}>
            <td className="row">
              <Tag kind={each.id === live ? "live" : undefined}>v{each.version}</Tag>
              {each.id === live && <span className="mid">live</span>}
            </td>
            <td className="cut c-message" title={each.message ?? undefined}>
              {each.message ?? (about !== undefined && <span className="mid">{about(each)}</span>)}
            </td>
            <td className="mid cut">
              <When at={each.created_at * 1_000} />
              {each.made_by?.name != null && (
                <>
                  , <bdi>{each.made_by.name}</bdi>
                </>
              )}
            </td>
            {runs !== undefined && <td className="mid cut c-runs">{runs(each)}</td>}
            <td className="is-right version-acts">
              {items.length > 1 && (
                <Button
                  size="sm"
                  icon={GitCompare}
                  aria-label={`Compare v${each.version} with another`}
                  onClick={() => onCompare(each)}
                >
                  Compare…
                </Button>
              )}
              {each.id !== live && (
                <Button
                  size="sm"
                  icon={History}
                  refused={refused}
                  aria-label={`Roll back to v${each.version}…`}
                  onClick={() => onBack(each)}
                >
                  Roll back to v{each.version}…
                </Button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Any two versions beside each other; what differs is drawn by whoever knows what a version holds. */
export function CompareVersions<V extends Version>({
  name,
  items,
  chosen,
  live,
  onClose,
  children,
}: {
  name: string;
  items: readonly V[];
  /** Id of one of them. */
  chosen: string | undefined;
  live: string | undefined;
  onClose: () => void;
  children: (before: V, after: V) => ReactNode;
}) {
  const [ids, setIds] = useState(() => firstPair(items, chosen, live));
  const [before, after] = ids.map((id) => items.find((each) => each.id === id));
  const choices = items.map(({ id, version, message }) => ({
    value: id,
    label: `v${version}${id === live ? ", live" : ""}`,
    ...(message === null ? {} : { note: <span className="dim cut version-note">{message}</span> }),
  }));
  return (
    <Dialog
      open
      onClose={onClose}
      title={`v${before?.version} against v${after?.version}`}
      about={name}
      size="wide"
      foot={<CloseDialog />}
    >
      <div className="dialog-body">
        <div className="row version-pair">
          <Select
            aria-label="Before"
            value={ids[0]}
            onChange={(id) => setIds([id, ids[1]])}
            choices={choices}
          />
          <span className="dim">against</span>
          <Select
            aria-label="After"
            value={ids[1]}
            onChange={(id) => setIds([ids[0], id])}
            choices={choices}
          />
        </div>
        {before !== undefined && after !== undefined && children(before, after)}
      </div>
    </Dialog>
  );
}

/** What the chosen one changed: the one before it stands first. The first of all is held against what is live. */
function firstPair(
  items: readonly Version[],
  chosen: string | undefined,
  live: string | undefined,
): [string, string] {
  const at = items.findIndex(({ id }) => id === chosen);
  const before = items[at + 1];
  const id = items[at]?.id ?? "";
  return before === undefined ? [id, live ?? id] : [before.id, id];
}

type Read<R> = { data: R | undefined; error: Error | null; refetch: () => unknown };

/** Why nothing may be confirmed by a difference of these two. */
export function unreadOf(...versions: readonly Read<unknown>[]): string | undefined {
  if (versions.every(({ data }) => data !== undefined)) return undefined;
  return versions.some(({ error }) => error !== null)
    ? "The differences could not be loaded."
    : "Loading the difference…";
}

/** What two versions hold, once both are read. */
export function BothVersions<R>({
  before,
  after,
  children,
}: {
  before: Read<R>;
  after: Read<R>;
  children: (before: R, after: R) => ReactNode;
}) {
  const [one, other] = [before.data, after.data];
  if (one !== undefined && other !== undefined) return children(one, other);
  const error = before.error ?? after.error;
  if (error === null) return <SkeletonRows rows={4} />;
  const again = () => {
    for (const each of [before, after]) if (each.data === undefined) void each.refetch();
  };
  return <ReadFailed what="The differences" error={error} again={again} />;
}

/** Asks before an earlier version becomes live again, with what changes by it. */
export function GoBack({
  name,
  to,
  says,
  busy,
  error,
  refused,
  onGo,
  onClose,
  children,
}: {
  name: string;
  to: Version;
  /** What else goes back, or stays. */
  says: string;
  busy: boolean;
  error: Error | null;
  /** Why it cannot be confirmed: what changes is not shown. */
  refused: string | undefined;
  onGo: () => void;
  onClose: () => void;
  /** What changes against the version that is live. */
  children: ReactNode;
}) {
  const go = () => {
    if (!busy && refused === undefined) onGo();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Roll back to v${to.version}?`}
      about={name}
      size="wide"
      onSubmit={go}
      foot={
        <>
          <CloseDialog />
          <Button
            look="primary"
            icon={History}
            keys="mod+enter"
            busy={busy && "Rolling back…"}
            refused={refused}
            onClick={go}
          >
            Roll back to v{to.version}
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p>
          What v{to.version} becomes live again, as a new version. {says}
        </p>
        {children}
        {error !== null && (
          <Banner kind="failed" role="alert" title="Nothing was rolled back">
            {sentence(error)}
          </Banner>
        )}
      </div>
    </Dialog>
  );
}
