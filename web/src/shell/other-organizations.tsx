/** Offer to switch to another organization of the person, for a link that leads into it. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { use } from "react";
import { ApiError, sentence } from "~/api/errors";
import { switchOrg } from "~/api/session";
import { Button } from "~/ui/button";
import { say } from "~/ui/toast";
import { SessionContext, tellTabs } from "./session";

/** Shown below an error that says that something is not there. */
export function OtherOrganizations({
  error,
  onSwitched,
}: {
  error: unknown;
  onSwitched?: () => void;
}) {
  const session = use(SessionContext);
  const queries = useQueryClient();
  const router = useRouter();
  const turn = useMutation({
    mutationFn: switchOrg,
    onSuccess: async () => {
      tellTabs();
      // All that was read is of the organization before; what is shown is read again.
      await queries.resetQueries();
      await router.invalidate();
      onSwitched?.();
    },
    onError: (error) => say({ title: sentence(error) }),
  });
  const others = session?.orgs.filter(({ id }) => id !== session.org.id) ?? [];
  if (!(error instanceof ApiError) || error.status !== 404 || others.length === 0) return null;
  return (
    <div className="crash-others">
      <p className="mid">
        You are in {session?.org.name}. If the link belongs to another of your organizations, switch
        to it:
      </p>
      <div className="row">
        {others.map(({ id, name }) => (
          <Button
            key={id}
            size="sm"
            busy={turn.isPending && turn.variables === id && "Switching…"}
            onClick={() => turn.mutate(id)}
          >
            Switch to {name}
          </Button>
        ))}
      </div>
    </div>
  );
}
