/** Runs of all workflows and sources. */

import { Link } from "@tanstack/react-router";
import { AsCommand, type Command } from "~/shell/as-command";
import { type CommandLine, curlOf, line } from "~/shell/command-line";
import { countOf } from "~/shell/new-bar";
import { useTitle } from "~/shell/title";
import { buttonClass } from "~/ui/button";
import { PageHead } from "~/ui/pane";
import { NoneListed } from "./none-listed";
import { type Listed, RunBars, saysOf } from "./run-bars";
import { type Query, queryOf } from "./run-filter";
import { ShownRunsOf } from "./shown-runs";
import { showingWords, useRunList } from "./use-run-list";

export function AllRuns({ listed }: { listed: Listed }) {
  const { view, q, filter } = listed;
  const list = useRunList({
    key: JSON.stringify([view, filter, q]),
    query: () => queryOf(view, filter, q, Date.now()),
    isSearch: q !== "",
  });
  const { fresh, isAtLeast } = list;
  useTitle(fresh.length === 0 ? "Runs" : `${countOf(fresh.length, isAtLeast)} new, Runs`);
  const says = saysOf(listed);
  return (
    <>
      <PageHead
        acts={
          <>
            <AsCommand commands={() => commandsOf(list.query())} />
            <Link to="/replays" className={buttonClass({})}>
              Replays
            </Link>
          </>
        }
      >
        <h1>Runs</h1>
      </PageHead>
      <RunBars
        selecting={list.selecting}
        listed={listed}
        showing={showingWords(list.ids.length, list.total, says)}
      />
      <ShownRunsOf
        list={list}
        says={says}
        empty={
          <NoneListed
            listed={listed}
            says={says}
            searchedUntil={list.first?.search?.indexed_until_ms}
          />
        }
      />
    </>
  );
}

/** The list as commands. Those of the terminal take no filter but words, a status and an owner. */
function commandsOf(query: Query): Command[] {
  const asked = Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  );
  return [
    { name: "curl", text: curlOf("GET", ["runs"], { query: asked }) },
    ...terminalLines(query).map((text) => ({ name: "Command line", text })),
  ];
}

function terminalLines({ status, owner_id: owner, q }: Query): CommandLine[] {
  if (q !== undefined) {
    return [
      status === undefined
        ? line`millrace runs search ${q}`
        : line`millrace runs search --status=${status} ${q}`,
    ];
  }
  if (owner === undefined) return [];
  return [
    status === undefined
      ? line`millrace runs list ${owner}`
      : line`millrace runs list --status=${status} ${owner}`,
  ];
}
