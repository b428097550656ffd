/** Connected accounts: app, health and actions of each. */

import "~/ui/table.css";
import "./accounts.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { body, client } from "~/api/client";
import { pagesOf } from "~/api/queries";
import type { Account } from "~/api/schema";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, buttonClass } from "~/ui/button";
import { cn } from "~/ui/cn";
import { PageHead } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { AccountActs, useReconnect } from "./account-acts";
import { ChooseApp } from "./choose-app";

const accountsQuery = pagesOf(["accounts", "all"], (query, signal) =>
  body(client.GET("/v1/accounts", { params: { query }, signal })),
);

export function AccountsPage() {
  useTitle("Accounts");
  const accounts = useInfiniteQuery(accountsQuery);
  const refused = useRefusal("full");
  const [chooses, setChooses] = useState(false);
  const connect = (
    <Button look="primary" icon={Plus} refused={refused} onClick={() => setChooses(true)}>
      Connect account
    </Button>
  );
  return (
    <>
      <PageHead
        acts={
          <>
            <Link to="/apps" className={buttonClass({})}>
              Apps
            </Link>
            {connect}
          </>
        }
      >
        <h1>Accounts</h1>
      </PageHead>
      <div className="scroll">
        <ListState
          query={accounts}
          what="The accounts"
          empty={
            <Empty title="No connected accounts.">
              <p>
                An account lets code call a service on your behalf. Code receives only the
                credentials of the accounts selected in its props.
              </p>
              {connect}
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-accounts" aria-label="Accounts">
              <thead>
                <tr className="tr is-head">
                  <th>App</th>
                  <th>Account</th>
                  <th>Health</th>
                  <th className="is-right">Connected</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((account) => (
                  <Row key={account.id} account={account} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {chooses && <ChooseApp onClose={() => setChooses(false)} />}
    </>
  );
}

function Row({ account }: { account: Account }) {
  return (
    <tr className="tr">
      <td className="row">
        <Tile name={account.app.name} />
        <Link
          to="/apps/$slug"
          params={{ slug: account.app.name_slug }}
          className="quiet-link cut above"
        >
          {account.app.name}
        </Link>
      </td>
      <td className="cut">
        <Link to="/accounts/$id" params={{ id: account.id }} className="row-link name">
          {account.name}
        </Link>{" "}
        <span className="mono dim small">{account.id}</span>
      </td>
      <td className="row above">
        <Health account={account} />
      </td>
      <td className="dim is-right above">
        <When at={account.created_at * 1_000} />
      </td>
      <td className="is-right above">
        <AccountActs account={account} />
      </td>
    </tr>
  );
}

/**
 * Whether the provider still takes the account, and the way back where it does not. `whole`: the
 * reason in all its words, and not in one line.
 */
export function Health({ account, whole = false }: { account: Account; whole?: boolean }) {
  const refused = useRefusal("full");
  const again = useReconnect(account);
  if (account.healthy) {
    return (
      <span className="status">
        <Glyph status="succeeded" />
        Healthy
      </span>
    );
  }
  return (
    <>
      <Glyph status="paused" />
      <span
        className={cn("paused-text", whole ? "wrap" : "cut")}
        title={whole ? undefined : (account.problem ?? undefined)}
      >
        {account.problem ?? "rejected by the provider"}
      </span>
      <Button size="sm" refused={refused} onClick={again}>
        Reconnect…
      </Button>
    </>
  );
}
