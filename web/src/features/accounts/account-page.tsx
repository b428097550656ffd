/** Page of an account: its health, its uses and its actions. */

import "~/ui/table.css";
import "./accounts.css";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { HeartPulse } from "lucide-react";
import { accountQuery, accountUsesQuery } from "~/api/queries";
import type { Account } from "~/api/schema";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { placeOf } from "~/shell/places";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { count } from "~/ui/format";
import { Crumbs, Fact, PageHead, PaneHead } from "~/ui/pane";
import { Tile } from "~/ui/tag";
import { Until, When } from "~/ui/time";
import { AccountActs, useCheck } from "./account-acts";
import { Health } from "./accounts-page";

export function AccountPage({ id }: { id: string }) {
  const navigate = useNavigate();
  const { data: account, error, refetch } = useQuery(accountQuery(id));
  useTitle(account === undefined ? "Account" : `${account.name}, Accounts`);
  return (
    <>
      <PageHead
        acts={
          account !== undefined && (
            <>
              <AsCommand
                about={account.name}
                commands={() => [
                  {
                    name: "Command line",
                    text: line`millrace accounts check ${id}\nmillrace accounts uses ${id}`,
                  },
                  { name: "curl", text: curlOf("GET", ["accounts", id]) },
                ]}
              />
              <Check account={account} />
              <AccountActs account={account} onGone={() => void navigate({ to: "/accounts" })} />
            </>
          )
        }
      >
        <Crumbs>
          <Link to="/accounts">Accounts</Link>
          <h1 className="cut">{account?.name ?? id}</h1>
        </Crumbs>
      </PageHead>
      {error !== null && account === undefined && (
        <ReadFailed what="The account" error={error} again={refetch} />
      )}
      {account === undefined && error === null && <SkeletonRows rows={4} />}
      {account !== undefined && (
        <div className="scroll">
          <dl className="facts account-facts">
            <Fact name="App" wide>
              <Link
                to="/apps/$slug"
                params={{ slug: account.app.name_slug }}
                className="quiet-link row"
              >
                <Tile name={account.app.name} size="xs" />
                <span className="cut">{account.app.name}</span>
              </Link>
            </Fact>
            <Fact name="Health" wide>
              <span className="row is-wrapping account-health">
                <Health account={account} whole />
              </span>
            </Fact>
            <Fact name="Connected">
              <When at={account.created_at * 1_000} />
            </Fact>
            <Fact name="Changed">
              <When at={account.updated_at * 1_000} />
            </Fact>
            {account.expires_at !== undefined && (
              <Fact name="Token expires">
                <Until at={account.expires_at * 1_000} />
              </Fact>
            )}
            {account.external_user_id !== null && (
              <Fact name="External user" wide>
                <span className="mono">{account.external_user_id}</span>
              </Fact>
            )}
            <Fact name="Id">
              <span className="mono">{account.id}</span>
            </Fact>
          </dl>
          <Uses id={id} />
        </div>
      )}
    </>
  );
}

function Check({ account }: { account: Account }) {
  const refused = useRefusal("full");
  const check = useCheck(account);
  return (
    <Button
      icon={HeartPulse}
      refused={refused}
      busy={check.isPending && "Testing…"}
      onClick={() => check.mutate()}
    >
      Test account
    </Button>
  );
}

function Uses({ id }: { id: string }) {
  const { data: uses, error, refetch } = useQuery(accountUsesQuery(id));
  return (
    <section aria-labelledby="account-uses">
      <PaneHead
        id="account-uses"
        title="Used by"
        {...(uses === undefined ? {} : { count: count(uses.length) })}
      />
      {error !== null && <ReadFailed what="Used by" error={error} again={refetch} />}
      {uses?.length === 0 && <Empty title="Nothing uses it." />}
      {uses !== undefined && uses.length > 0 && (
        <nav aria-labelledby="account-uses">
          <ul className="account-uses">
            {uses.map((used) => {
              const { word, icon: Icon, href } = placeOf(used);
              return (
                <li key={`${used.kind} ${used.id}`}>
                  <Icon className="icon is-sm" aria-hidden="true" />
                  <a href={href} className="quiet-link name cut">
                    {used.name}
                  </a>
                  <span className="dim small">{word}</span>
                </li>
              );
            })}
          </ul>
        </nav>
      )}
    </section>
  );
}
