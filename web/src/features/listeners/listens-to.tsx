/** Emitters that a webhook listens to, each with its channel and a link to its page. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment, type ReactNode } from "react";
import { sentence } from "~/api/errors";
import { RecordLink } from "~/shell/record-link";
import { useSession } from "~/shell/session";
import { count } from "~/ui/format";
import { Tag } from "~/ui/tag";
import { autoSubscriptionsQuery, newestOfListenerQuery } from "./queries";

/** As many as fit beside the other facts. */
const SHOWN = 4;

export const channelWord = (name: string) =>
  name === "" ? "events" : name === "$errors" ? "errors" : name === "$logs" ? "log lines" : name;

export function ListensTo({ id }: { id: string }) {
  const { org } = useSession();
  const { data: newest, error } = useQuery(newestOfListenerQuery(org.id, id, SHOWN));
  const { data: autos, error: autosError } = useInfiniteQuery(autoSubscriptionsQuery);
  const failed = error ?? autosError;
  if (newest === undefined || autos === undefined) {
    return (
      <span className={failed === null ? "listens-to" : "listens-to failed-text"}>
        {failed === null ? "…" : sentence(failed)}
      </span>
    );
  }
  const ofAutos = autos.pages
    .flatMap((page) => page.data)
    .filter(({ listener_id }) => listener_id === id);
  const shown = [
    ...newest.data.map((each) => ({
      ...each,
      emitter: <Emitter id={each.emitter_id} name={each.emitter_name ?? null} />,
    })),
    ...ofAutos.map((each) => ({ ...each, emitter: "every new workflow and source" })),
  ].slice(0, SHOWN);
  const rest =
    (newest.page_info?.total_count ?? newest.data.length) + ofAutos.length - shown.length;
  return (
    <span className="listens-to">
      {shown.length === 0 && "nothing yet "}
      {shown.map((each, at) => (
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

function Emitter({ id, name }: { id: string; name: string | null }): ReactNode {
  const { org } = useSession();
  if (id === "dc_*") return "all sources";
  if (id === "p_*") return "all workflows";
  if (id === org.id) return "the organization";
  if (name === null) return <span className="mono">{id}</span>;
  const kind = id.startsWith("p_") ? "workflow" : "source";
  return <RecordLink of={{ id, name, kind }} className="quiet-link" />;
}
