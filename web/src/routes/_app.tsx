import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { createFileRoute, Outlet, redirect, useNavigate } from "@tanstack/react-router";
import { ApiError, sentence } from "~/api/errors";
import { signOut, switchOrg } from "~/api/session";
import { ConnectProvider } from "~/features/accounts/connect";
import { ReplayProvider } from "~/features/runs/replay-provider";
import { Crash } from "~/shell/crash";
import { Frame } from "~/shell/frame";
import { SessionContext, sessionQuery } from "~/shell/session";
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
  errorComponent: Crash,
});

function App() {
  const { data: session } = useQuery(sessionQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const failed = (error: Error) => say({ title: sentence(error) });
  const out = useMutation({
    mutationFn: signOut,
    onSuccess: async () => {
      await navigate({ to: "/login" });
      queries.clear();
    },
    onError: failed,
  });
  const turn = useMutation({
    mutationFn: switchOrg,
    // What is open may be of the other organization.
    onSuccess: async () => {
      queries.clear();
      await navigate({ to: "/" });
    },
    onError: failed,
  });
  if (session === undefined) return null;
  return (
    <SessionContext value={session}>
      <Frame
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
