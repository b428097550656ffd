/**
 * Recipients of a group of errors: mail addresses and listeners of its owner's errors, and a button
 * that adds a listener.
 */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Ear, Mail, Plus } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import {
  type Owner,
  organizationQuery,
  ownersQuery,
  subscriptionsQuery,
  webhookNamesQuery,
} from "~/api/queries";
import type { ErrorGroup, Subscription } from "~/api/schema";
import { FormDialog } from "~/shell/form-dialog";
import { useRefusal, useSession } from "~/shell/session";
import { Button } from "~/ui/button";
import { Field } from "~/ui/field";
import { Select } from "~/ui/select";
import { say } from "~/ui/toast";
import { mailQuery, ownerQuery } from "./queries";
import { listenersOf } from "./told";

export function WhoIsTold({ group, owner }: { group: ErrorGroup; owner: Owner }) {
  const { org } = useSession();
  const refused = useRefusal("deploy");
  const [makes, setMakes] = useState(false);
  const { data: subscriptions, isPending } = useQuery(subscriptionsQuery(org.id));
  const listeners = listenersOf(subscriptions ?? [], owner, org.id);
  return (
    <section className="group-told in-order" aria-labelledby="who-is-told">
      <h3 id="who-is-told">Who is notified</h3>
      <ul>
        <li>
          <Mail className="icon is-sm" aria-hidden="true" />
          <Mailed group={group} owner={owner} />
        </li>
        {subscriptions !== undefined && listeners.length === 0 && (
          <li>
            <Ear className="icon is-sm" aria-hidden="true" />
            <span className="mid">No workflow or webhook listens to its errors.</span>
          </li>
        )}
        {isPending && <li aria-busy="true" />}
        {listeners.map((each) => (
          <Listener key={each.id} subscription={each} owner={owner} />
        ))}
      </ul>
      <Button size="sm" icon={Plus} refused={refused} onClick={() => setMakes(true)}>
        Handle these with a workflow…
      </Button>
      {makes && <Handle owner={owner} onClose={() => setMakes(false)} />}
    </section>
  );
}

/** Mail of errors is sent for workflows alone, unless one's settings say otherwise. */
function Mailed({ group, owner }: { group: ErrorGroup; owner: Owner }) {
  const { org } = useSession();
  const { data: organization } = useQuery(organizationQuery(org.id));
  const { data: settings } = useQuery({
    ...mailQuery(owner.id),
    enabled: owner.isWorkflow,
    retry: false,
  });
  if (!owner.isWorkflow) return <span className="mid">Errors of sources are not mailed.</span>;
  if (group.state === "ignored") return <span className="mid">Nobody: this error is ignored.</span>;
  if (organization === undefined || settings === undefined) return null;
  if (!settings.mails) {
    return (
      <span className="mid">
        Nobody: mail is off in the{" "}
        <Link to="/workflows/$id/settings" params={{ id: owner.id }} className="link">
          settings of the workflow
        </Link>
        .
      </span>
    );
  }
  const named = [settings.recipients, organization.error_recipients].find(
    (each) => each.length > 0,
  ) ?? [organization.email];
  return (
    <span className="wrap">
      {named.join(", ")} <span className="dim">by mail, at most once in 24 hours</span>
    </span>
  );
}

function Listener({ subscription, owner }: { subscription: Subscription; owner: Owner }) {
  const id = subscription.listener_id;
  const isWebhook = id.startsWith("wh_");
  const { data: listener } = useQuery({ ...ownerQuery(id), enabled: !isWebhook });
  const { data: webhooks } = useQuery({ ...webhookNamesQuery, enabled: isWebhook });
  const name = (isWebhook ? webhooks?.get(id) : listener?.name) ?? id;
  return (
    <li>
      <Ear className="icon is-sm" aria-hidden="true" />
      <span className="wrap">
        <Link
          to={isWebhook ? "/webhooks/$id" : "/workflows/$id"}
          params={{ id }}
          className="quiet-link"
        >
          {name}
        </Link>{" "}
        <span className="dim">
          listens to{" "}
          {subscription.emitter_id === owner.id
            ? `errors of ${owner.name}`
            : subscription.emitter_id.endsWith("*")
              ? `errors of all ${owner.isWorkflow ? "workflows" : "sources"}`
              : "errors of the organization"}
        </span>
      </span>
    </li>
  );
}

const NEW = "new";

/** First code of a workflow that handles errors. */
const HANDLER = `export default defineComponent({
  async run({ steps, $ }) {
    const { error, original_event } = steps.trigger.event;
    $.export("$summary", \`\${error.code}: \${error.message}\`);
    return original_event;
  },
});
`;

function Handle({ owner, onClose }: { owner: Owner; onClose: () => void }) {
  const { org } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: owners } = useQuery(ownersQuery);
  const [chosen, setChosen] = useState(NEW);
  const workflows = [...(owners?.values() ?? [])].filter(
    (each) => each.isWorkflow && each.id !== owner.id,
  );
  const make = useMutation({
    mutationFn: async () => {
      const id = chosen === NEW ? await newWorkflow() : chosen;
      const query = { emitter_id: owner.id, listener_id: id, event_name: "$errors" };
      await data(client.POST("/v1/subscriptions", { params: { query } }));
      return id;
    },
    onSuccess: (id) => {
      void queries.invalidateQueries({ queryKey: subscriptionsQuery(org.id).queryKey });
      onClose();
      if (chosen !== NEW) {
        say({
          title: `${owners?.get(id)?.name ?? "The workflow"} gets the errors of ${owner.name}`,
          shape: "succeeded",
        });
        return;
      }
      void queries.invalidateQueries({ queryKey: ["owners"] });
      void queries.invalidateQueries({ queryKey: ["workflows"] });
      say({ title: "It receives errors once it is deployed", about: `of ${owner.name}` });
      void navigate({ to: "/workflows/$id/edit", params: { id } });
    },
  });
  const newWorkflow = async () => {
    const made = await data(
      client.POST("/v1/workflows", {
        body: {
          name: `Errors of ${owner.name}`.slice(0, 200),
          triggers: [],
          steps: [{ namespace: "handle", code: HANDLER }],
          settings: { auto_deploy: false },
        },
      }),
    );
    return made.id;
  };
  return (
    <FormDialog
      title="Handle errors with a workflow"
      about={owner.name}
      act="Create listener"
      busy="Adding…"
      mutation={make}
      onClose={onClose}
    >
      <Field
        name="listener_id"
        label="Workflow"
        optional={false}
        hint="Each error starts the workflow, with the event that failed and the results of the previous steps."
      >
        {(control) => (
          <Select
            {...control}
            value={chosen}
            onChange={setChosen}
            choices={[
              { value: NEW, label: "A new workflow" },
              ...workflows.map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
        )}
      </Field>
    </FormDialog>
  );
}
