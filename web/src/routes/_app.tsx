import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Outlet, redirect } from "@tanstack/react-router";
import { ApiError } from "~/api/errors";
import { ConnectProvider } from "~/features/accounts/connect";
import { ReplayProvider } from "~/features/runs/replay-provider";
import { Crash } from "~/shell/crash";
import { Frame } from "~/shell/frame";
import { SessionContext, sessionQuery } from "~/shell/session";

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
  if (session === undefined) return null;
  return (
    <SessionContext value={session}>
      <Frame>
        <ConnectProvider>
          <ReplayProvider>
            <Outlet />
          </ReplayProvider>
        </ConnectProvider>
      </Frame>
    </SessionContext>
  );
}
