/** State of a group of errors: who set it, and the actions that change it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellOff, Check, RotateCw } from "lucide-react";
import { setErrorState } from "~/api/error-groups";
import { sentence } from "~/api/errors";
import type { ErrorGroup } from "~/api/schema";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { shortId } from "~/ui/format";
import { State } from "~/ui/tag";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";
import { groupQuery } from "./queries";

type Set = "open" | "resolved" | "ignored";

const SAYS: Record<Set, string> = {
  resolved: "Resolved. It reopens if a later run fails with it.",
  ignored: "Ignored. No mail is sent about it.",
  open: "Reopen",
};

/** What a row says of a group that is not just open. */
export function StateOf({ group }: { group: ErrorGroup }) {
  if (group.state === "regressed") return <State kind="alarm">Regressed</State>;
  if (group.state === "resolved") return <State>Resolved</State>;
  if (group.state === "ignored") return <State>Ignored</State>;
  return null;
}

/** Buttons that set the state, and what the server said against it. */
export function StateActs({ group }: { group: ErrorGroup }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const set = useMutation({
    mutationFn: (state: Set) => setErrorState(group.id, state),
    onSuccess: (changed, state) => {
      say({ title: SAYS[state], about: changed.code });
      queries.setQueryData(groupQuery(group.id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["error-groups"] });
    },
  });
  const isOpen = group.state === "open" || group.state === "regressed";
  const busy = set.isPending && "Saving…";
  return (
    <>
      {isOpen ? (
        <>
          <Button icon={Check} refused={refused} busy={busy} onClick={() => set.mutate("resolved")}>
            Resolve
          </Button>
          <Button
            look="quiet"
            icon={BellOff}
            refused={refused}
            busy={busy}
            onClick={() => set.mutate("ignored")}
          >
            Ignore
          </Button>
        </>
      ) : (
        <Button icon={RotateCw} refused={refused} busy={busy} onClick={() => set.mutate("open")}>
          Reopen
        </Button>
      )}
      {set.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(set.error)}
        </p>
      )}
    </>
  );
}

const WORDS: Record<string, string> = {
  open: "reopened",
  resolved: "resolved",
  ignored: "ignored",
  regressed: "regressed",
};

/** Newest changes of the state first; nothing where it was never changed. */
export function StateHistory({ id }: { id: string }) {
  const { data: group } = useQuery(groupQuery(id));
  if (group === undefined || group.history.length === 0) return null;
  return (
    <ol className="group-history small" aria-label="History">
      {group.history.map((change) => (
        <li key={`${change.at_ms} ${change.state}`}>
          <span>
            {WORDS[change.state] ?? change.state}
            {change.by !== null && ` by ${change.by.name ?? change.by.id}`}
            {change.run_id !== null && (
              <>
                {" with "}
                <Link to="/runs/$id" params={{ id: change.run_id }} className="link">
                  {shortId(change.run_id)}
                </Link>
              </>
            )}
          </span>
          <span className="dim">
            <When at={change.at_ms} />
          </span>
        </li>
      ))}
    </ol>
  );
}
