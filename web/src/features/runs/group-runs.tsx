/** Runs that failed with an error of one group, with the deployments between them. */

import { Empty } from "~/ui/banner";
import { SelectRuns } from "./select-runs";
import { ShownRunsOf } from "./shown-runs";
import { showingWords, useRunList } from "./use-run-list";

const SAYS = "of this error";

export function GroupRuns({ group }: { group: string }) {
  const list = useRunList({
    key: JSON.stringify(["group", group]),
    query: () => ({ group }),
    isSearch: false,
  });
  return (
    <>
      <div className="row pad">
        <p className="small dim grow" role="status">
          {list.total !== undefined && list.total > 0
            ? showingWords(list.ids.length, list.total, SAYS)
            : ""}
        </p>
        {list.ids.length > 0 && <SelectRuns selecting={list.selecting} />}
      </div>
      <ShownRunsOf list={list} bare says={SAYS} empty={<Empty title="Its runs were pruned." />} />
    </>
  );
}
