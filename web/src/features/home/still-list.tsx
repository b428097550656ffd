/** List of the things that do not work, each with the action that mends it. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { useConnect } from "~/shell/connect";
import { RecordLink } from "~/shell/record-link";
import { useRefusal } from "~/shell/session";
import { Button, buttonClass } from "~/ui/button";
import { plural } from "~/ui/format";
import { Tile } from "~/ui/tag";
import { Until } from "~/ui/time";
import { say } from "~/ui/toast";
import { partsQuery } from "./queries";
import type { Still } from "./standing";

/** More than these are found in their lists. */
const SHOWN_MAX = 6;

export function StillList({ still }: { still: readonly Still[] }) {
  return (
    <>
      <ul className="home-list" aria-labelledby="home-still">
        {still.slice(0, SHOWN_MAX).map((each) => (
          <li key={each.id} className="home-still">
            <Tile name={each.name} />
            <div className="grow">
              <p className="cut">
                <RecordLink of={each} className="name quiet-link" />{" "}
                <span className="dim small">{each.kind}</span>
              </p>
              <p className="mid home-why">
                <Why of={each} />
              </p>
            </div>
            <Act of={each} />
          </li>
        ))}
      </ul>
      {still.length > SHOWN_MAX && <Rest of={still.slice(SHOWN_MAX)} />}
    </>
  );
}

/** What is not shown, by the list that has it. */
function Rest({ of: rest }: { of: readonly Still[] }) {
  const kinds = (["account", "webhook", "source", "workflow"] as const).flatMap((kind) => {
    const many = rest.filter((each) => each.kind === kind).length;
    return many === 0 ? [] : [{ kind, many }];
  });
  return (
    <p className="home-none dim">
      And{" "}
      {kinds.map(({ kind, many }, index) => (
        <Fragment key={kind}>
          {index > 0 && ", "}
          <Link {...listOf(kind)} className="link">
            {plural(many, kind)}
          </Link>
        </Fragment>
      ))}{" "}
      more.
    </p>
  );
}

function listOf(kind: Still["kind"]) {
  switch (kind) {
    case "account":
      return { to: "/accounts" } as const;
    case "webhook":
      return { to: "/webhooks" } as const;
    case "source":
      return { to: "/sources", search: { state: "inactive" } } as const;
    case "workflow":
      return { to: "/workflows", search: { state: "inactive" } } as const;
  }
}

function Why({ of: { kind, why, failures = 0, until } }: { of: Still }): ReactNode {
  switch (kind) {
    case "account":
      return (
        why ?? "Its provider rejects its credentials. What uses it fails until it is reconnected."
      );
    case "webhook":
      return (
        <>
          Paused after {plural(failures, "failure")} in a row.{" "}
          {until !== undefined && (
            <>
              Next attempt <Until at={until} />.
            </>
          )}
        </>
      );
    case "source":
      return why ?? "Switched off: it receives no events.";
    case "workflow":
      return why ?? "Switched off: no event starts it.";
  }
}

function Act({ of: still }: { of: Still }): ReactNode {
  switch (still.kind) {
    case "account":
      return <Reconnect still={still} />;
    case "webhook":
      return (
        <Link
          to="/webhooks/$id"
          params={{ id: still.id }}
          search={{ status: "failed" }}
          className={buttonClass({ size: "sm" })}
        >
          Failed deliveries
        </Link>
      );
    default:
      return <Activate still={still} />;
  }
}

function Reconnect({ still }: { still: Still }) {
  const connect = useConnect();
  const queries = useQueryClient();
  const refused = useRefusal("full");
  return (
    <Button
      size="sm"
      refused={refused}
      onClick={() =>
        connect({
          app: still.app ?? "",
          account: still,
          onConnected: () => void queries.invalidateQueries({ queryKey: partsQuery.queryKey }),
        })
      }
    >
      Reconnect…
    </Button>
  );
}

function Activate({ still: { id, name, kind } }: { still: Still }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const change = useMutation({
    mutationFn: async (active: boolean): Promise<unknown> => {
      const asked = { params: { path: { id } }, body: { active } };
      return kind === "source"
        ? data(client.PUT("/v1/sources/{id}", asked))
        : data(client.PUT("/v1/workflows/{id}", asked));
    },
    onSuccess: (_, active) => {
      void queries.invalidateQueries({ queryKey: partsQuery.queryKey });
      void queries.invalidateQueries({ queryKey: [kind, id] });
      say({
        title: active ? `${name} is active` : `${name} is off`,
        ...(active ? { act: { label: "Undo", onClick: () => change.mutate(false) } } : {}),
      });
    },
    onError: (error) => say({ title: "Nothing was changed", about: sentence(error) }),
  });
  return (
    <Button
      size="sm"
      refused={refused}
      busy={change.isPending && "Activating…"}
      onClick={() => change.mutate(true)}
    >
      Activate
    </Button>
  );
}
