import { createFileRoute, Link, Outlet } from "@tanstack/react-router";
import { TabBar } from "~/shell/tab-bar";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/settings")({ component: Settings });

const parts = [
  ["/settings", "Organization"],
  ["/settings/members", "Members"],
  ["/settings/keys", "API keys"],
  ["/settings/oauth-clients", "OAuth clients"],
  ["/settings/domains", "Domains"],
  ["/settings/audit", "Audit log"],
  ["/settings/system", "System"],
  ["/settings/sessions", "Your sessions"],
] as const;

function Settings() {
  return (
    <>
      <PageHead>
        <h1>Settings</h1>
      </PageHead>
      <TabBar label="Settings sections">
        {parts.map(([to, name]) => (
          <Link key={to} to={to} className="tab" activeOptions={{ exact: true }}>
            {name}
          </Link>
        ))}
      </TabBar>
      <Outlet />
    </>
  );
}
