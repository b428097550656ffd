/** Tags of a workflow's head: the live version, and the draft's changes against it, which open their difference. */

import { useMemo, useState } from "react";
import { plural } from "~/ui/format";
import { Tag } from "~/ui/tag";
import { differences } from "./differences";
import { DraftDialog } from "./draft-dialog";
import { useLiveVersion } from "./live-version";
import { useBuilder } from "./use-builder";

export function VersionTags({ onDeploy }: { onDeploy: () => void }) {
  const { onServer } = useBuilder();
  const live = useLiveVersion();
  const [shows, setShows] = useState(false);
  const found = useMemo(() => (live ? differences(onServer, live) : []), [onServer, live]);
  if (live === null) return <Tag kind="draft">not deployed</Tag>;
  if (live === undefined) return null;
  const changes = plural(found.length, "change");
  return (
    <>
      <Tag kind="live">v{live.version} live</Tag>
      {found.length > 0 && (
        <button
          type="button"
          className="tag-link"
          aria-haspopup="dialog"
          aria-label={`draft, ${changes} from v${live.version}`}
          onClick={() => setShows(true)}
        >
          <Tag kind="draft">
            <span>
              draft<span className="only-wide">, {changes}</span>
            </span>
          </Tag>
        </button>
      )}
      {shows && (
        <DraftDialog
          onClose={() => setShows(false)}
          onDeploy={() => {
            setShows(false);
            onDeploy();
          }}
        />
      )}
    </>
  );
}
