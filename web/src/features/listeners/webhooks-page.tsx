/** Webhooks: addresses that receive events, with the state of their deliveries. */

import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./listeners.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import type { NewWebhook, Webhook } from "~/api/schema";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { ShownOnce } from "~/shell/shown-once";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";
import { Crumbs, PageHead } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Until, When } from "~/ui/time";
import { webhooksQuery } from "./queries";

export function WebhooksPage() {
  useTitle("Webhooks");
  const webhooks = useInfiniteQuery(webhooksQuery);
  const refused = useRefusal("deploy");
  const [makes, setMakes] = useState(false);
  return (
    <>
      <PageHead
        acts={
          <Button look="primary" icon={Plus} refused={refused} onClick={() => setMakes(true)}>
            New webhook
          </Button>
        }
      >
        <Crumbs>
          <Link to="/listeners">Listeners</Link>
          <h1>Webhooks</h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        <ListState
          query={webhooks}
          what="The webhooks"
          empty={
            <Empty title="No webhooks yet.">
              <p>
                A webhook listens as a workflow does. Each event is signed and sent to its URL, with
                retries until it is delivered.
              </p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-webhooks" aria-label="Webhooks">
              <thead>
                <tr className="tr is-head">
                  <th>Name</th>
                  <th>URL</th>
                  <th>State</th>
                  <th className="is-right">Created</th>
                </tr>
              </thead>
              <tbody>
                {items.map((webhook) => (
                  <tr className="tr" key={webhook.id}>
                    <td className="cut">
                      <Link
                        to="/webhooks/$id"
                        params={{ id: webhook.id }}
                        className="row-link name"
                      >
                        {nameOf(webhook)}
                      </Link>
                    </td>
                    <td className="mono mid cut" title={webhook.url}>
                      {webhook.url}
                    </td>
                    <td>
                      <WebhookState webhook={webhook} />
                    </td>
                    <td className="dim is-right above">
                      <When at={webhook.created_at * 1_000} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {makes && <Make onClose={() => setMakes(false)} />}
    </>
  );
}

export function nameOf(webhook: Pick<Webhook, "name" | "url">): string {
  if (webhook.name !== null && webhook.name !== "") return webhook.name;
  return URL.canParse(webhook.url) ? new URL(webhook.url).host : webhook.url;
}

/** Whether it is sent to, and until when the circuit is open. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.paused_until !== null) {
    return (
      <span className="status paused-text">
        <Glyph status="paused" />
        <span>
          circuit open, next attempt <Until at={webhook.paused_until * 1_000} />
        </span>
      </span>
    );
  }
  if (!webhook.active) {
    return (
      <span className="status">
        <Glyph status="cancelled" />
        Off
      </span>
    );
  }
  return (
    <span className="status">
      <Glyph status={webhook.failures > 0 ? "paused" : "succeeded"} />
      {webhook.failures > 0 ? `${webhook.failures} failures in a row` : "Sent to"}
    </span>
  );
}

function Make({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [url, setUrl, isTyped] = useKeptText("dialog.webhook");
  const [name, setName, isNamed] = useKeptText("dialog.webhook.name");
  const [made, setMade] = useState<NewWebhook | null>(null);
  const make = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/webhooks", {
          params: {
            query: { url: url.trim(), ...(name.trim() === "" ? {} : { name: name.trim() }) },
          },
        }),
      ),
    onSuccess: (webhook) => {
      void queries.invalidateQueries({ queryKey: ["webhooks"] });
      setMade(webhook);
    },
  });
  if (made !== null) {
    return (
      <ShownOnce
        title="Webhook created"
        label="Signing secret"
        secret={made.secret}
        says="The receiver uses it to verify that an event is from this server. It is not shown again."
        onStored={() => {
          onClose();
          void navigate({ to: "/webhooks/$id", params: { id: made.id } });
        }}
      />
    );
  }
  return (
    <FormDialog
      title="New webhook"
      act="Create webhook"
      busy="Creating…"
      mutation={make}
      typed={isTyped || isNamed}
      onClose={onClose}
    >
      <Field name="url" label="URL" hint="An https URL that the server can reach." optional={false}>
        {(control) => (
          <Input
            {...control}
            type="url"
            placeholder="https://example.com/hook"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        )}
      </Field>
      <Field name="name" label="Name">
        {(control) => (
          <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
