/** Layout of all pages that need a session: frame, dialogs, and the redirect to the sign-in. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  createFileRoute,
  Link,
  Outlet,
  redirect,
  useLocation,
  useNavigate,
} from "@tanstack/react-router";
import { useCallback, useEffect } from "react";
import { ApiError, sentence } from "~/api/errors";
import { type Session, signOut, switchOrg } from "~/api/session";
import { ConnectProvider } from "~/features/accounts/connect";
import { openErrorsQuery } from "~/features/errors/queries";
import { Gauge } from "~/features/home/gauge";
import { ReplayProvider } from "~/features/runs/replay-provider";
import { AskBeforeBack } from "~/shell/ask-before-back";
import { Frame } from "~/shell/frame";
import { tabsKnown } from "~/shell/kept-tabs";
import { SessionContext, sessionQuery, tellTabs, useOtherTabs } from "~/shell/session";
import { useSessionEnded } from "~/shell/session-ended";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { PageHead } from "~/ui/pane";
import { say } from "~/ui/toast";

export const Route = createFileRoute("/_app")({
  beforeLoad: async ({ context: { queryClient }, location, preload }) => {
    try {
      const { org, orgs } = await queryClient.ensureQueryData(sessionQuery);
      // Forms take over what closed tabs left in them, and nothing of open ones.
      await tabsKnown;
      const asked = orgAsked(location.search);
      const other = orgs.find(({ id }) => id === asked);
      if (preload || other === undefined || other.id === org.id) return {};
      await switchOrg(other.id);
      tellTabs();
      queryClient.clear();
      await queryClient.ensureQueryData(sessionQuery);
      return { switchedTo: other.name };
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        throw redirect({ to: "/login", search: { next: location.href } });
      }
      throw error;
    }
  },
  component: App,
});

/** The organization that a deep link is of. */
function orgAsked(search: object): string | undefined {
  return "org" in search && typeof search.org === "string" ? search.org : undefined;
}

function App() {
  const { switchedTo } = Route.useRouteContext();
  useEffect(() => {
    if (switchedTo !== undefined) say({ title: `Switched to ${switchedTo}` });
  }, [switchedTo]);
  const asked = useLocation({ select: ({ search }) => orgAsked(search) });
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
      <AskBeforeBack />
      <Frame
        counts={{ "/errors": { n: errors, alarm: true, says: `${errors} open` } }}
        foot={<Gauge />}
        onSignOut={session.id === null ? undefined : () => out.mutate()}
        onSwitch={(org) => turn.mutate(org)}
      >
        <ConnectProvider>
          <ReplayProvider>
            {asked === undefined || session.orgs.some(({ id }) => id === asked) ? (
              <Outlet />
            ) : (
              <OtherOrganization asked={asked} session={session} />
            )}
          </ReplayProvider>
        </ConnectProvider>
      </Frame>
    </SessionContext>
  );
}

/** In place of the page: what it would show is of another organization. */
function OtherOrganization({ asked, session }: { asked: string; session: Session }) {
  useTitle("Not found");
  return (
    <>
      <PageHead>
        <h1>Not found</h1>
      </PageHead>
      <Empty
        title={`The link belongs to the organization ${asked}, of which you are not a member.`}
      >
        <p>
          You are signed in as {session.user.email}, in {session.org.name}. A member of the other
          organization can invite you.
        </p>
        <Link to="/" className={buttonClass({})}>
          Go to Home of {session.org.name}
        </Link>
      </Empty>
    </>
  );
}
