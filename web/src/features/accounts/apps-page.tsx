/** Apps that accounts are connected to, and one of them with its accounts, components and client. */

import "~/ui/table.css";
import "./accounts.css";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useDeferredValue, useRef, useState } from "react";
import { body, client, data } from "~/api/client";
import { accountsOf, appQuery, PAGE_MAX, pagesOf } from "~/api/queries";
import type { App } from "~/api/schema";
import { useConnect } from "~/shell/connect";
import { ListState } from "~/shell/list-state";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { useShortcuts } from "~/shell/shortcuts";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Search } from "~/ui/field";
import { plural } from "~/ui/format";
import { Markdown } from "~/ui/markdown";
import { BarStatus, Crumbs, Fact, PageHead, PaneHead } from "~/ui/pane";
import { Tag, Tile } from "~/ui/tag";
import { Health } from "./accounts-page";
import { OauthClient } from "./oauth-client";

const ways: Record<App["auth_type"], string> = {
  oauth: "OAuth",
  keys: "API key",
  none: "no credentials",
};

const appsQuery = (q: string) =>
  pagesOf(
    ["apps", "all", q],
    (query, signal) =>
      body(
        client.GET("/v1/apps", {
          params: { query: { ...query, ...(q === "" ? {} : { q }) } },
          signal,
        }),
      ),
    50,
  );

export function AppsPage({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  useTitle("Apps");
  const field = useRef<HTMLInputElement>(null);
  const words = useDeferredValue(q.trim());
  const apps = useInfiniteQuery({ ...appsQuery(words), placeholderData: keepPreviousData });
  useShortcuts({ filter: () => field.current?.focus() });
  return (
    <>
      <PageHead>
        <Crumbs>
          <Link to="/accounts">Accounts</Link>
          <h1>Apps</h1>
        </Crumbs>
      </PageHead>
      <div className="bar">
        <Search
          ref={field}
          wide
          label="Search apps"
          keys="/"
          value={q}
          onChange={(event) => onSearch(event.target.value)}
        />
        <BarStatus>
          {apps.isSuccess && plural(apps.data.pages[0]?.page_info.total_count ?? 0, "app")}
        </BarStatus>
      </div>
      <div className="scroll">
        <ListState
          query={apps}
          what="The apps"
          empty={
            <Empty title={words === "" ? "No apps yet." : "No app matches."}>
              <p>An app is listed once a component that uses it is deployed.</p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-apps" aria-label="Apps">
              <thead>
                <tr className="tr is-head">
                  <th>App</th>
                  <th>About</th>
                  <th>Connected</th>
                  <th>Kind</th>
                </tr>
              </thead>
              <tbody>
                {items.map((app) => (
                  <tr className="tr" key={app.id}>
                    <td className="row">
                      <Tile name={app.name} />
                      <Link
                        to="/apps/$slug"
                        params={{ slug: app.name_slug }}
                        className="row-link name cut"
                      >
                        {app.name}
                      </Link>
                    </td>
                    <td className="mid cut">{app.description}</td>
                    <td className="mid cut">{ways[app.auth_type]}</td>
                    <td className="dim cut">{app.categories.join(", ")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}

export function AppPage({ slug }: { slug: string }) {
  const { data: app, error, refetch } = useQuery({ ...appQuery(slug), retry: false });
  useTitle(app === undefined ? "App" : `${app.name}, Apps`);
  const refused = useRefusal("full");
  const connect = useConnect();
  const [changesClient, setChangesClient] = useState(false);
  return (
    <>
      <PageHead
        acts={
          app !== undefined &&
          app.auth_type !== "none" && (
            <>
              {app.auth_type === "oauth" && (
                <Button refused={refused} onClick={() => setChangesClient(true)}>
                  {app.oauth === null ? "Set the OAuth client…" : "Change the OAuth client…"}
                </Button>
              )}
              <Button
                look="primary"
                icon={Plus}
                refused={refused}
                onClick={() => connect({ app: slug, onConnected: () => {} })}
              >
                Connect account
              </Button>
            </>
          )
        }
      >
        <Crumbs>
          <Link to="/apps">Apps</Link>
          <span className="row">
            <Tile name={app?.name ?? slug} />
            <h1 className="cut">{app?.name ?? slug}</h1>
          </span>
        </Crumbs>
      </PageHead>
      {error !== null && app === undefined && (
        <ReadFailed what="The app" error={error} again={refetch} />
      )}
      {app === undefined && error === null && <SkeletonRows rows={4} />}
      {app !== undefined && (
        <div className="scroll in-order">
          <dl className="facts account-facts">
            <Fact name="Slug">
              <span className="mono">{app.name_slug}</span>
            </Fact>
            <Fact name="Authentication" wide>
              {ways[app.auth_type]}
              {app.auth_type === "oauth" &&
                (app.oauth === null
                  ? ", once it has a client"
                  : `, with the client ${app.oauth.client_id}`)}
            </Fact>
            {app.description !== null && app.description !== "" && (
              <Fact name="About" wide>
                <Markdown text={app.description} />
              </Fact>
            )}
          </dl>
          {app.auth_type !== "none" && <AccountsOfApp slug={slug} />}
          <ComponentsOfApp slug={slug} />
        </div>
      )}
      {app !== undefined && changesClient && (
        <Dialog open onClose={() => setChangesClient(false)} title={`OAuth client of ${app.name}`}>
          <OauthClient app={app} onSaved={() => setChangesClient(false)} />
        </Dialog>
      )}
    </>
  );
}

function AccountsOfApp({ slug }: { slug: string }) {
  const { data: accounts, error, refetch } = useQuery(accountsOf(slug));
  return (
    <section aria-labelledby="accounts-of-app">
      <PaneHead id="accounts-of-app" title="Accounts" />
      {error !== null && <ReadFailed what="The accounts" error={error} again={refetch} />}
      {accounts?.length === 0 && <Empty title="No connected accounts." />}
      {accounts !== undefined && accounts.length > 0 && (
        <ul className="account-uses">
          {accounts.map((account) => (
            <li key={account.id}>
              <Link to="/accounts/$id" params={{ id: account.id }} className="quiet-link name cut">
                {account.name}
              </Link>
              <span className="row end">
                <Health account={account} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function ComponentsOfApp({ slug }: { slug: string }) {
  const {
    data: found,
    error,
    refetch,
  } = useQuery({
    queryKey: ["component-search", "of-app", slug],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/components/search", {
          params: { query: { query: "", app: slug, limit: PAGE_MAX } },
          signal,
        }),
      ),
    retry: false,
  });
  const components = found?.components ?? [];
  return (
    <section aria-labelledby="components-of-app">
      <PaneHead id="components-of-app" title="Components" />
      {error !== null && <ReadFailed what="The components" error={error} again={refetch} />}
      {found !== undefined && components.length === 0 && (
        <Empty title="No component of this app is published or in a registry." />
      )}
      {components.length > 0 && (
        <table className="tbl t-app-parts" aria-label="Components">
          <tbody>
            {components.map((each) => (
              <tr className="tr" key={each.key}>
                <td className="cut">
                  <Link to="/components/$id" params={{ id: each.key }} className="row-link mono">
                    {each.key}
                  </Link>
                </td>
                <td>
                  <Tag>{each.type}</Tag>
                </td>
                <td className="mid cut">{each.name}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {components.length >= PAGE_MAX && (
        <p className="small dim pad">
          {PAGE_MAX} components are shown; there may be more.{" "}
          <Link to="/components" search={{ q: slug }} className="link">
            Search all components
          </Link>
        </p>
      )}
    </section>
  );
}
