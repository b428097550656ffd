/** Emitters that a webhook listens to, each with its channel and a link to its page. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { sentence } from "~/api/errors";
import { ownersQuery, subscriptionsQuery } from "~/api/queries";
import { RecordLink } from "~/shell/record-link";
import { useSession } from "~/shell/session";
import { count } from "~/ui/format";
import { Tag } from "~/ui/tag";
import { autoSubscriptionsQuery } from "./queries";

/** As many as fit beside the other facts. */
const SHOWN = 4;

export const channelWord = (name: string) =>
  name === "" ? "events" : name === "$errors" ? "errors" : name === "$logs" ? "log lines" : name;

export function ListensTo({ id }: { id: string }) {
  const { org } = useSession();
  const { data: subscriptions, error } = useQuery(subscriptionsQuery(org.id));
  const { data: autos, error: autosError } = useInfiniteQuery(autoSubscriptionsQuery);
  const failed = error ?? autosError;
  if (subscriptions === undefined || autos === undefined) {
    return (
      <span className={failed === null ? "listens-to" : "listens-to failed-text"}>
        {failed === null ? "…" : sentence(failed)}
      </span>
    );
  }
  const all = [
    ...subscriptions
      .filter(({ listener_id }) => listener_id === id)
      .map((each) => ({ ...each, emitter: <Emitter id={each.emitter_id} /> })),
    ...autos.pages
      .flatMap((page) => page.data)
      .filter(({ listener_id }) => listener_id === id)
      .map((each) => ({ ...each, emitter: "every new workflow and source" })),
  ];
  const rest = all.length - SHOWN;
  return (
    <span className="listens-to">
      {all.length === 0 && "nothing yet "}
      {all.slice(0, SHOWN).map((each, at) => (
        <Fragment key={each.id}>
          {at > 0 && ", "}
          <Tag>{channelWord(each.event_name)}</Tag> of {each.emitter}
        </Fragment>
      ))}{" "}
      <Link to="/listeners" className="link small">
        {rest > 0 ? `and ${count(rest)} more` : "Listeners"}
      </Link>
    </span>
  );
}

function Emitter({ id }: { id: string }): ReactNode {
  const { org } = useSession();
  const { data: owners } = useQuery(ownersQuery);
  if (id === "dc_*") return "all sources";
  if (id === "p_*") return "all workflows";
  if (id === org.id) return "the organization";
  const owner = owners?.get(id);
  if (owner === undefined) return <span className="mono">{id}</span>;
  const kind = owner.isWorkflow ? "workflow" : "source";
  return <RecordLink of={{ id, name: owner.name, kind }} className="quiet-link" />;
}
