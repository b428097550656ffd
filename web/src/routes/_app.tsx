/** Layout of all pages that need a session: frame, dialogs, and the redirect to the sign-in. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { createFileRoute, Outlet, redirect, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { ApiError, sentence } from "~/api/errors";
import { signOut, switchOrg } from "~/api/session";
import { ConnectProvider } from "~/features/accounts/connect";
import { openErrorsQuery } from "~/features/errors/queries";
import { Gauge } from "~/features/home/gauge";
import { ReplayProvider } from "~/features/runs/replay-provider";
import { Frame } from "~/shell/frame";
import { SessionContext, sessionQuery, tellTabs, useOtherTabs } from "~/shell/session";
import { useSessionEnded } from "~/shell/session-ended";
import { say } from "~/ui/toast";

export const Route = createFileRoute("/_app")({
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(sessionQuery);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        throw redirect({ to: "/login", search: { next: location.href } });
      }
      throw error;
    }
  },
  component: App,
});

function App() {
  const { data: session, error: noSession } = useQuery(sessionQuery);
  useSessionEnded(noSession instanceof ApiError && noSession.status === 401);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const failed = (error: Error) => say({ title: sentence(error) });
  const out = useMutation({
    mutationFn: signOut,
    onSuccess: async () => {
      tellTabs();
      await navigate({ to: "/login" });
      queries.clear();
    },
    onError: failed,
  });
  // What is open may be of the other organization.
  const beginAnew = useCallback(async () => {
    queries.clear();
    await navigate({ to: "/" });
  }, [queries, navigate]);
  const turn = useMutation({
    mutationFn: switchOrg,
    onSuccess: async () => {
      tellTabs();
      await beginAnew();
    },
    onError: failed,
  });
  const hear = useCallback(async () => {
    const before = queries.getQueryData(sessionQuery.queryKey);
    const now = await queries.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined);
    // A session that ended leaves what is open as it is.
    if (now === undefined) return;
    if (now.org.id !== before?.org.id || now.user.id !== before.user.id) await beginAnew();
  }, [queries, beginAnew]);
  useOtherTabs(hear);
  const { data: errors = 0 } = useQuery(openErrorsQuery);
  if (session === undefined) return null;
  return (
    <SessionContext value={session}>
      <Frame
        counts={{ "/errors": { n: errors, alarm: true, says: `${errors} open` } }}
        foot={<Gauge />}
        onSignOut={session.id === null ? undefined : () => out.mutate()}
        onSwitch={(org) => turn.mutate(org)}
      >
        <ConnectProvider>
          <ReplayProvider>
            <Outlet />
          </ReplayProvider>
        </ConnectProvider>
      </Frame>
    </SessionContext>
  );
}
