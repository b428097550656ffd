/** Button that replays all runs of a group of errors. The dialog counts them before it replays any. */

import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import type { ErrorGroup } from "~/api/schema";
import { useReplay } from "~/shell/replay";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { count } from "~/ui/format";
import { ownerOf } from "./owner";
import { ownerQuery } from "./queries";

export function ReplayAll({ group }: { group: ErrorGroup }) {
  const { data: named } = useQuery(ownerQuery(ownerOf(group).id));
  const owner = named ?? ownerOf(group);
  const replay = useReplay();
  const refused = useRefusal("invoke");
  return (
    <Button
      look="primary"
      icon={RotateCcw}
      refused={refused}
      onClick={() =>
        replay({
          kind: "many",
          stepwise: owner.isWorkflow,
          owner: owner.isWorkflow ? { workflow_id: owner.id } : { source_id: owner.id },
          name: `${group.code} in ${owner.name}`,
          group: group.id,
        })
      }
    >
      {group.count === 1 ? "Replay…" : `Replay all ${count(group.count)}…`}
    </Button>
  );
}
