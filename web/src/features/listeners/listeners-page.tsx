/** Subscriptions of the organization, including those that deploys made. */

import "~/ui/table.css";
import "./listeners.css";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { ownersQuery, subscriptionsQuery, webhookNamesQuery } from "~/api/queries";
import type { AutoSubscription, Subscription } from "~/api/schema";
import { FormDialog } from "~/shell/form-dialog";
import { ShowMore } from "~/shell/list-state";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal, useSession } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty, Skeleton, SkeletonRows } from "~/ui/banner";
import { Button, buttonClass, IconButton } from "~/ui/button";
import { Combobox, type Item } from "~/ui/combobox";
import { Field } from "~/ui/field";
import { count } from "~/ui/format";
import { PageHead, PaneHead } from "~/ui/pane";
import { Select } from "~/ui/select";
import { Tag, Tile } from "~/ui/tag";
import { say } from "~/ui/toast";
import { channelWord } from "./listens-to";
import { autoSubscriptionsQuery } from "./queries";

/** `undefined` until the names are read. */
type Named = (id: string) => { name: string; kind: string } | undefined;

/** Names of all that can emit or listen. */
function useNames(): { nameOfId: Named; items: (kinds: readonly string[]) => Item[] } {
  const { org } = useSession();
  const { data: owners, isPending: areOwnersPending } = useQuery(ownersQuery);
  const { data: webhooks, isPending: areWebhooksPending } = useQuery(webhookNamesQuery);
  const isPending = areOwnersPending || areWebhooksPending;
  const known = new Map<string, { name: string; kind: string }>([
    [org.id, { name: org.name, kind: "organization" }],
    ["dc_*", { name: "All sources", kind: "sources" }],
    ["p_*", { name: "All workflows", kind: "workflows" }],
  ]);
  for (const owner of owners?.values() ?? []) {
    known.set(owner.id, { name: owner.name, kind: owner.isWorkflow ? "workflow" : "source" });
  }
  for (const [id, name] of webhooks ?? []) known.set(id, { name, kind: "webhook" });
  return {
    nameOfId: (id) => known.get(id) ?? (isPending ? undefined : { name: id, kind: "" }),
    items: (kinds) =>
      [...known]
        .filter(([, { kind }]) => kinds.includes(kind))
        .map(([key, { name, kind }]) => ({ key, label: name, note: kind })),
  };
}

export function ListenersPage() {
  useTitle("Listeners");
  const { org } = useSession();
  const subscriptions = useQuery(subscriptionsQuery(org.id));
  const autos = useInfiniteQuery(autoSubscriptionsQuery);
  const { nameOfId, items } = useNames();
  const refused = useRefusal("deploy");
  const [makes, setMakes] = useState(false);
  const all = subscriptions.data ?? [];
  const automatic = autos.data?.pages.flatMap((page) => page.data) ?? [];
  const automaticTotal = autos.data?.pages[0]?.page_info.total_count ?? 0;
  return (
    <>
      <PageHead
        acts={
          <>
            <Link to="/webhooks" className={buttonClass({})}>
              Webhooks
            </Link>
            <Button look="primary" icon={Plus} refused={refused} onClick={() => setMakes(true)}>
              New listener
            </Button>
          </>
        }
      >
        <h1>Listeners</h1>
      </PageHead>
      <div className="scroll in-order">
        {subscriptions.isPending && <SkeletonRows rows={5} />}
        {subscriptions.error !== null && (
          <ReadFailed
            what="The listeners"
            error={subscriptions.error}
            again={subscriptions.refetch}
          />
        )}
        {subscriptions.isSuccess && all.length === 0 && (
          <Empty title="No listeners yet.">
            <p>
              A workflow or a webhook listens to a source, to another workflow, or to all errors.
            </p>
          </Empty>
        )}
        {all.length > 0 && (
          <table className="tbl t-subscriptions" aria-label="Listeners">
            <thead>
              <tr className="tr is-head">
                <th>Emitter</th>
                <th>Channel</th>
                <th>Listener</th>
                <th>
                  <span className="sr">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map((subscription) => (
                <Row key={subscription.id} subscription={subscription} nameOfId={nameOfId} />
              ))}
            </tbody>
          </table>
        )}
        {automatic.length > 0 && (
          <section aria-labelledby="automatic">
            <PaneHead
              id="automatic"
              title="Automatic"
              count={count(Math.max(automaticTotal, automatic.length))}
              hint="added to every workflow and source created later"
            />
            <table className="tbl t-subscriptions" aria-label="Automatic listeners">
              <tbody>
                {automatic.map((auto) => (
                  <tr className="tr" key={auto.id}>
                    <td className="mid">Every new workflow and source</td>
                    <td>
                      <Tag>{channelWord(auto.event_name)}</Tag>
                    </td>
                    <Thing of={nameOfId(auto.listener_id)} />
                    <td>
                      <EndAuto
                        of={auto}
                        name={nameOfId(auto.listener_id)?.name ?? auto.listener_id}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            <ShowMore query={autos} />
          </section>
        )}
      </div>
      {makes && <Make items={items} onClose={() => setMakes(false)} />}
    </>
  );
}

function Row({ subscription, nameOfId }: { subscription: Subscription; nameOfId: Named }) {
  const queries = useQueryClient();
  const { org } = useSession();
  const refused = useRefusal("deploy");
  const [from, to] = [nameOfId(subscription.emitter_id), nameOfId(subscription.listener_id)];
  const fromName = from?.name ?? subscription.emitter_id;
  const toName = to?.name ?? subscription.listener_id;
  const query = {
    emitter_id: subscription.emitter_id,
    listener_id: subscription.listener_id,
    event_name: subscription.event_name,
  };
  const changed = () =>
    queries.invalidateQueries({ queryKey: subscriptionsQuery(org.id).queryKey });
  const back = useMutation({
    mutationFn: () => data(client.POST("/v1/subscriptions", { params: { query } })),
    onSuccess: changed,
    onError: (error) =>
      say({ title: `The listener ${toName} was not restored`, about: sentence(error) }),
  });
  const end = useMutation({
    mutationFn: () => data(client.DELETE("/v1/subscriptions", { params: { query } })),
    onSuccess: () => {
      say({
        title: `${toName} no longer listens`,
        about: `to ${channelWord(subscription.event_name)} of ${fromName}`,
        act: { label: "Undo", onClick: () => back.mutate() },
      });
      void changed();
    },
    onError: (error) => say({ title: "Nothing was changed", about: sentence(error) }),
  });
  return (
    <tr className="tr">
      <Thing of={from} />
      <td>
        <Tag>{channelWord(subscription.event_name)}</Tag>
      </td>
      <Thing of={to} />
      <td>
        <IconButton
          icon={X}
          size="sm"
          label={`Remove: ${toName} listens to ${fromName}`}
          refused={refused}
          onClick={() => end.mutate()}
        />
      </td>
    </tr>
  );
}

/** Cell of what emits or listens. */
function Thing({ of }: { of: ReturnType<Named> }) {
  return (
    <td className="row">
      {of === undefined ? (
        <Skeleton width={140} />
      ) : (
        <>
          <Tile name={of.name} />
          <span className="name cut">{of.name}</span>
          <span className="dim small">{of.kind}</span>
        </>
      )}
    </td>
  );
}

function EndAuto({ of, name }: { of: AutoSubscription; name: string }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const changed = () => queries.invalidateQueries({ queryKey: autoSubscriptionsQuery.queryKey });
  const back = useMutation({
    mutationFn: () => {
      const { listener_id } = of;
      const event_name = of.event_name === "$logs" ? "$logs" : "$errors";
      return data(
        client.POST("/v1/auto_subscriptions", { params: { query: { listener_id, event_name } } }),
      );
    },
    onSuccess: changed,
    onError: (error) =>
      say({ title: `The listener ${name} was not restored`, about: sentence(error) }),
  });
  const end = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/auto_subscriptions/{id}", { params: { path: { id: of.id } } })),
    onSuccess: () => {
      say({
        title: `${name} no longer listens to new workflows and sources`,
        about: "Its existing listeners stay.",
        act: { label: "Undo", onClick: () => back.mutate() },
      });
      void changed();
    },
    onError: (error) => say({ title: "Nothing was changed", about: sentence(error) }),
  });
  return (
    <IconButton
      icon={X}
      size="sm"
      label={`Remove: ${name} listens to new workflows and sources`}
      refused={refused}
      onClick={() => end.mutate()}
    />
  );
}

function Make({
  items,
  onClose,
}: {
  items: (kinds: readonly string[]) => Item[];
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const { org } = useSession();
  const [from, setFrom] = useState<Item | null>(null);
  const [what, setWhat] = useState("$errors");
  const [to, setTo] = useState<Item | null>(null);
  const make = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/subscriptions", {
          params: {
            query: {
              emitter_id: from?.key ?? "",
              listener_id: to?.key ?? "",
              event_name: what,
            },
          },
        }),
      ),
    onSuccess: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: subscriptionsQuery(org.id).queryKey });
    },
  });
  return (
    <FormDialog
      title="New listener"
      act="Create listener"
      busy="Creating…"
      mutation={make}
      refused={from === null || to === null ? "Choose an emitter and a listener first." : undefined}
      onClose={onClose}
    >
      <Field name="emitter_id" label="Emitter" optional={false}>
        {(control) => (
          <Combobox
            {...control}
            items={items(["organization", "sources", "workflows", "source", "workflow"])}
            value={from}
            onChange={setFrom}
          />
        )}
      </Field>
      <Field name="event_name" label="Channel" optional={false}>
        {(control) => (
          <Select
            {...control}
            value={what}
            onChange={setWhat}
            choices={[
              { value: "", label: "Events" },
              { value: "$errors", label: "Errors", note: "$errors" },
              { value: "$logs", label: "Logs of a source", note: "$logs" },
            ]}
          />
        )}
      </Field>
      <Field name="listener_id" label="Listener" optional={false}>
        {(control) => (
          <Combobox
            {...control}
            items={items(["workflow", "webhook"])}
            value={to}
            onChange={setTo}
          />
        )}
      </Field>
    </FormDialog>
  );
}
