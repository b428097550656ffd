/**
 * Notice that `millrace dev` saves a workflow or source from a person's files: its next save
 * replaces changes that are made here.
 */

import { useQuery } from "@tanstack/react-query";
import { deployedQuery, SAVED_IN_DEV } from "~/api/deployments";
import { Banner } from "~/ui/banner";
import { useNow, When } from "~/ui/time";

/** After its last save nobody is supposed to work on the files any more. */
const HELD_MS = 60 * 60_000;

export function HeldByDev({
  owner,
  isWorkflow,
  className,
}: {
  owner: string;
  isWorkflow: boolean;
  className: string;
}) {
  const { data: [newest] = [] } = useQuery(deployedQuery(owner, isWorkflow));
  const now = useNow();
  if (newest?.message !== SAVED_IN_DEV || now - newest.at > HELD_MS) return null;
  return (
    <div className={className}>
      <Banner
        title={
          <>
            <code className="mono">millrace dev</code> saved v{newest.version}
            {newest.by !== undefined && ` for ${newest.by}`}, <When at={newest.at} />
          </>
        }
      >
        While it runs, each save of its files creates a version, which replaces what you change
        here.
      </Banner>
    </div>
  );
}
