/** Page of a delivery to a webhook: what was sent, and each attempt with its answer. */

import "./delivery.css";
import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Webhook, WebhookDeliveryDetail } from "~/api/schema";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { cn } from "~/ui/cn";
import { Copy } from "~/ui/copy";
import { clock, count, duration, plural, shortId } from "~/ui/format";
import { JsonInspector } from "~/ui/json/json-inspector";
import { Crumbs, Fact, PageHead, PaneHead } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Until, When } from "~/ui/time";
import { type Attempt, attemptsOf, notKept } from "./attempts";
import { DeliveryState, eventName, SendAgain } from "./delivery-acts";
import { deliveryQuery, webhookQuery } from "./queries";
import { nameOf } from "./webhooks-page";

export function DeliveryPage({ webhook: hook, id }: { webhook: string; id: string }) {
  const { data: webhook } = useSuspenseQuery(webhookQuery(hook));
  const { data: delivery } = useSuspenseQuery(deliveryQuery(hook, id));
  useTitle(`${eventName(delivery)}, ${nameOf(webhook)}`);
  return (
    <>
      <PageHead acts={<Acts webhook={hook} delivery={id} />}>
        <Crumbs>
          <Link to="/webhooks">Webhooks</Link>
          <Link to="/webhooks/$id" params={{ id: hook }} className="cut">
            {nameOf(webhook)}
          </Link>
          <h1 className="mono cut" title={id}>
            {shortId(id)}
          </h1>
        </Crumbs>
      </PageHead>
      <div className="bar">
        <dl className="facts">
          <Fact name="State">
            <DeliveryState status={delivery.status} />
          </Fact>
          <Fact name="Created">
            <When at={delivery.created_at * 1_000} />
          </Fact>
          <Fact name="Event" wide>
            <EventLink delivery={delivery} />
          </Fact>
          <Fact name="Sent to" wide>
            <span className="mono">{webhook.url}</span>
          </Fact>
        </dl>
      </div>
      <div className="delivery-cols scroll in-order">
        <div className="delivery-left">
          <Attempts delivery={delivery} webhook={webhook} />
          <Headers headers={delivery.request_headers} />
        </div>
        <section className="delivery-right" aria-labelledby="delivery-body">
          <PaneHead id="delivery-body" title="Body" />
          <JsonInspector value={delivery.body} label="Body to send" />
        </section>
      </div>
    </>
  );
}

/** Events of sources have a page; their errors and log lines, and what a workflow emits, are in the runs. */
function EventLink({ delivery }: { delivery: WebhookDeliveryDetail }) {
  const { id, metadata } = delivery.body;
  const { emitter_id: emitter, name: channel } = metadata;
  if (typeof emitter !== "string") return eventName(delivery);
  const shared = { className: "quiet-link", children: eventName(delivery) };
  const params = { id: emitter };
  if (!emitter.startsWith("dc_")) {
    return <Link to="/workflows/$id/runs" params={params} {...shared} />;
  }
  const isOfRun = typeof channel === "string" && channel.startsWith("$");
  return isOfRun ? (
    <Link to="/sources/$id/runs" params={params} {...shared} />
  ) : (
    <Link to="/sources/$id" params={params} search={{ event: id }} {...shared} />
  );
}

function Acts({ webhook, delivery }: { webhook: string; delivery: string }) {
  return (
    <>
      <AsCommand
        commands={() => [
          {
            name: "Command line",
            text: line`millrace webhooks delivery ${webhook} ${delivery}\nmillrace webhooks replay ${webhook} ${delivery}`,
          },
          {
            name: "curl",
            text: curlOf("POST", ["webhooks", webhook, "deliveries", delivery, "replay"]),
          },
        ]}
      />
      <SendAgain webhook={webhook} delivery={delivery} />
    </>
  );
}

function Attempts({ delivery, webhook }: { delivery: WebhookDeliveryDetail; webhook: Webhook }) {
  const attempts = attemptsOf(delivery);
  const lost = notKept(delivery);
  const due = delivery.next_attempt_at_ms;
  const circuit = (webhook.paused_until ?? 0) * 1_000;
  return (
    <section aria-labelledby="delivery-attempts">
      <PaneHead
        id="delivery-attempts"
        title="Attempts"
        count={count(attempts.length)}
        hint={
          lost > 0 ? `${plural(lost, "earlier attempt", "earlier attempts")} not kept` : undefined
        }
      />
      {attempts.length === 0 && due === null && (
        <Empty title="No attempts are kept.">
          {delivery.last_error !== null && <p>{delivery.last_error}</p>}
        </Empty>
      )}
      <ol className="attempts">
        {attempts.map((attempt) => (
          <Attempted key={attempt.at} attempt={attempt} />
        ))}
        {due !== null && (
          <li className="attempt">
            <Glyph status="queued" />
            <div className="attempt-line">
              <span>{attempts.length === 0 ? "First attempt" : "Next attempt"}</span>
              <span className="mid">
                <Until at={Math.max(due, circuit)} />
                {circuit > due && "; the circuit is open until then"}
              </span>
            </div>
          </li>
        )}
      </ol>
    </section>
  );
}

function Attempted({ attempt }: { attempt: Attempt }) {
  const { at, waitedMs, tookMs, outcome, accepted, reason, answer } = attempt;
  return (
    <li className={cn("attempt", !accepted && "is-failed", waitedMs !== undefined && "has-waited")}>
      <Glyph status={accepted ? "succeeded" : "failed"} />
      {waitedMs !== undefined && (
        <p className="attempt-wait dim small num">waited {duration(waitedMs)}</p>
      )}
      <div className="attempt-line">
        <span className="attempt-outcome">{outcome}</span>
        <span className="num mid">in {duration(tookMs)}</span>
        <span className="end dim">
          <span className="num">{clock(at)}</span>, <When at={at} />
        </span>
      </div>
      {reason !== undefined && <p className="failed-text wrap">{reason}</p>}
      {answer !== undefined && <pre className="attempt-answer mono">{answer}</pre>}
    </li>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  const all = Object.entries(headers);
  return (
    <section aria-labelledby="delivery-headers">
      <PaneHead
        id="delivery-headers"
        title="Headers"
        hint={all.length > 0 ? "of the last attempt" : undefined}
      >
        {all.length > 0 && (
          <Copy
            label="Copy headers"
            text={() => all.map(([name, value]) => `${name}: ${value}`).join("\n")}
          />
        )}
      </PaneHead>
      {all.length === 0 ? (
        <p className="delivery-none mid">None sent yet.</p>
      ) : (
        <dl className="sent-headers">
          {all.map(([name, value]) => (
            <div key={name}>
              <dt className="mono">{name}</dt>
              <dd className="mono">{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
