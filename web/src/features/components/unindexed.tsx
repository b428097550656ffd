/** Files of a registry that its last update could not index, each with the reason. */

import { useQuery } from "@tanstack/react-query";
import { ReadFailed } from "~/shell/read-failed";
import { SkeletonRows } from "~/ui/banner";
import { Dialog } from "~/ui/dialog";
import { count } from "~/ui/format";
import { Worded } from "~/ui/worded";
import { registryQuery } from "./queries";

export function Unindexed({ name, onClose }: { name: string; onClose: () => void }) {
  const { data: registry, error, refetch } = useQuery(registryQuery(name));
  const all = registry?.unindexed_count ?? 0;
  return (
    <Dialog open onClose={onClose} title="Files that are not indexed" about={name} size="wide">
      <div className="dialog-body">
        <p className="mid">
          These files look like components and cannot be deployed by key. Fix them at the registry’s
          origin, then update the registry.
        </p>
        {error !== null && <ReadFailed what="The files" error={error} again={refetch} />}
        {error === null && registry === undefined && <SkeletonRows rows={3} />}
        {registry !== undefined && (
          <ul className="unindexed" aria-label="Files that are not indexed">
            {registry.unindexed.map(({ path, reason }) => (
              <li key={path}>
                <div className="mono wrap">{path}</div>
                <div className="small mid wrap">
                  <Worded text={reason} />
                </div>
              </li>
            ))}
          </ul>
        )}
        {registry !== undefined && all > registry.unindexed.length && (
          <p className="small dim">
            The first {count(registry.unindexed.length)} of {count(all)} are listed.
          </p>
        )}
      </div>
    </Dialog>
  );
}
