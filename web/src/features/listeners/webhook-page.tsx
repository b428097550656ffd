/** Page of a webhook: its deliveries, and sending failed ones again. */

import "~/ui/table.css";
import "./listeners.css";
import {
  useInfiniteQuery,
  useMutation,
  useQueryClient,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { Webhook, WebhookDelivery } from "~/api/schema";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { WouldGo } from "~/shell/would-go";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { count, plural } from "~/ui/format";
import { Crumbs, Fact, PageHead, Segments } from "~/ui/pane";
import { Until, When } from "~/ui/time";
import { say } from "~/ui/toast";
import { DeliveryState, eventName, SendAgain, stateWord } from "./delivery-acts";
import { ListensTo } from "./listens-to";
import { type DeliveryStatus, deliveriesQuery, webhookQuery } from "./queries";
import { nameOf, WebhookState } from "./webhooks-page";

export function WebhookPage({
  id,
  status,
  onStatus,
}: {
  id: string;
  status: DeliveryStatus | undefined;
  onStatus: (status: DeliveryStatus | undefined) => void;
}) {
  const { data: webhook } = useSuspenseQuery(webhookQuery(id));
  useTitle(nameOf(webhook));
  const deliveries = useInfiniteQuery({ ...deliveriesQuery(id, status), refetchInterval: 5_000 });
  return (
    <>
      <PageHead acts={<Acts webhook={webhook} />}>
        <Crumbs>
          <Link to="/webhooks">Webhooks</Link>
          <h1 className="cut">{nameOf(webhook)}</h1>
        </Crumbs>
      </PageHead>
      <div className="bar">
        <dl className="facts">
          <Fact name="URL" wide>
            <span className="mono">{webhook.url}</span>
          </Fact>
          <Fact name="State" wide>
            <WebhookState webhook={webhook} />
          </Fact>
          <Fact name="Listens to" wide>
            <ListensTo id={id} />
          </Fact>
        </dl>
      </div>
      <div className="bar">
        <Segments
          label="Deliveries"
          value={status ?? "all"}
          onChange={(next) => onStatus(next === "all" ? undefined : next)}
          choices={[
            ["all", "All"],
            ["queued", stateWord.queued],
            ["delivered", stateWord.delivered],
            ["failed", "Dead letters"],
          ]}
        />
      </div>
      <div className="scroll">
        <ListState
          query={deliveries}
          what="The deliveries"
          empty={
            <Empty title={status === undefined ? "No deliveries yet." : "No deliveries match."}>
              {status === undefined && (
                <p>
                  It sends the events that it listens to. Add what it listens to under Listeners.
                </p>
              )}
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-deliveries" aria-label="Deliveries">
              <thead>
                <tr className="tr is-head">
                  <th>State</th>
                  <th>Event</th>
                  <th>Answer</th>
                  <th>Attempts</th>
                  <th className="is-right">Created</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((delivery) => (
                  <Row key={delivery.id} webhook={webhook} delivery={delivery} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}

function Row({ webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery }) {
  return (
    <tr className="tr">
      <td>
        <DeliveryState status={delivery.status} />
      </td>
      <td className="cut">
        <Link
          to="/webhooks/$id/deliveries/$delivery"
          params={{ id: webhook.id, delivery: delivery.id }}
          className="row-link cut"
        >
          {eventName(delivery)}
        </Link>
      </td>
      <td className="num mid">{delivery.last_status ?? "none"}</td>
      <td className="mid cut">
        <span className="num">{count(delivery.attempts)}</span>
        {delivery.next_attempt_at_ms !== null && (
          <>
            , next {/* While the circuit is open, nothing is sent. */}
            <Until
              at={Math.max(delivery.next_attempt_at_ms, (webhook.paused_until ?? 0) * 1_000)}
            />
          </>
        )}
        {delivery.last_error !== null && (
          <span className="failed-text small" title={delivery.last_error}>
            {" "}
            {delivery.last_error}
          </span>
        )}
      </td>
      <td className="dim is-right above">
        <When at={delivery.created_at * 1_000} />
      </td>
      <td className="is-right above">
        <SendAgain webhook={webhook.id} delivery={delivery.id} small />
      </td>
    </tr>
  );
}

function Acts({ webhook }: { webhook: Webhook }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const sends = useRefusal("invoke");
  const deletes = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const params = { params: { path: { id: webhook.id } } };
  const all = useMutation({
    mutationFn: () => data(client.POST("/v1/webhooks/{id}/deliveries/replay", params)),
    onSuccess: ({ queued }) => {
      say({ title: `${plural(queued, "dead letter")} sent again`, shape: "running" });
      void queries.invalidateQueries({ queryKey: ["webhook", webhook.id] });
    },
    onError: (error) => say({ title: "Nothing was sent", about: sentence(error) }),
  });
  const remove = useMutation({
    mutationFn: () => data(client.DELETE("/v1/webhooks/{id}", params)),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["webhooks"] });
      say({ title: `${nameOf(webhook)} was deleted` });
      void navigate({ to: "/webhooks" });
    },
  });
  return (
    <>
      <AsCommand
        commands={() => [
          {
            name: "Command line",
            text: line`millrace webhooks deliveries --status failed ${webhook.id}\nmillrace webhooks replay ${webhook.id}`,
          },
          { name: "curl", text: curlOf("POST", ["webhooks", webhook.id, "deliveries", "replay"]) },
        ]}
      />
      <Button
        icon={RotateCcw}
        refused={sends}
        busy={all.isPending && "Sending…"}
        onClick={() => all.mutate()}
      >
        Send dead letters again
      </Button>
      <Button look="danger" icon={Trash2} refused={deletes} onClick={() => setAsks(true)}>
        Delete…
      </Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={`Delete webhook “${nameOf(webhook)}”?`}
        act="Delete webhook"
        busy={remove.isPending && "Deleting…"}
        error={remove.error === null ? undefined : sentence(remove.error)}
        onConfirm={() => remove.mutate()}
      >
        <p>Waiting deliveries are dropped, and its listeners are removed.</p>
        <WouldGo kind="webhook" id={webhook.id} />
      </Confirm>
    </>
  );
}
