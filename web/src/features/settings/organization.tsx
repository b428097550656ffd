/** Organization: its name, and the recipients of mails about errors. */

import "./settings.css";
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { organizationQuery } from "~/api/queries";
import type { Organization as OrganizationRecord } from "~/api/schema";
import { useRefusal, useSession } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { ChangedMeanwhile, NotSaved } from "~/shell/typed-form";
import { useTypedForm } from "~/shell/use-typed-form";
import { Button } from "~/ui/button";
import { Field, Fields, Input, TextArea } from "~/ui/field";
import { say } from "~/ui/toast";

const LABELS: Record<string, string> = { name: "Name", error_recipients: "Error mail to" };

const textsOf = ({ name, error_recipients }: OrganizationRecord) => ({
  name,
  error_recipients: error_recipients.join("\n"),
});

const addressesIn = (text: string) => text.split(/[\s,;]+/).filter((each) => each !== "");

export function Organization() {
  useTitle("Organization");
  const { org } = useSession();
  const { data: record } = useSuspenseQuery(organizationQuery(org.id));
  const queries = useQueryClient();
  const refused = useRefusal("full");
  const form = useTypedForm({
    keepAs: `organization.${org.id}`,
    record,
    textsOf,
    send: async (check) => {
      const params = { path: { org: org.id } };
      const typed = check(await data(client.GET("/v1/orgs/{org}", { params })));
      const body = {
        ...(typed.name === undefined ? {} : { name: typed.name.to.trim() }),
        ...(typed.error_recipients === undefined
          ? {}
          : { error_recipients: addressesIn(typed.error_recipients.to) }),
      };
      return data(client.PUT("/v1/orgs/{org}", { params, body }));
    },
    onRecord: (read) => queries.setQueryData(organizationQuery(org.id).queryKey, read),
    onSaved: () => {
      void queries.invalidateQueries({ queryKey: ["session"] });
      say({ title: "Saved", shape: "succeeded" });
    },
  });
  const stop = refused ?? form.refused;
  return (
    <form
      className="settings scroll"
      onSubmit={(event) => {
        event.preventDefault();
        if (stop === undefined) form.mutate();
      }}
    >
      <Fields className="fields" refused={refused}>
        <section className="settings-row">
          <h2>Organization</h2>
          <div className="form-grid">
            <Field label={LABELS.name} optional={false}>
              {(control) => (
                <Input
                  {...control}
                  value={form.textOf("name")}
                  onChange={(event) => form.set("name", event.target.value)}
                />
              )}
            </Field>
            <p className="small dim">
              ID <span className="mono">{record.id}</span>
            </p>
          </div>
        </section>
        <section className="settings-row">
          <h2>Error mail</h2>
          <Field
            label={LABELS.error_recipients}
            hint={`Up to ten addresses, one per line. If empty, mail goes to ${record.email}. A class of errors is mailed at most once in 24 hours for each workflow.`}
          >
            {(control) => (
              <TextArea
                {...control}
                rows={3}
                value={form.textOf("error_recipients")}
                onChange={(event) => form.set("error_recipients", event.target.value)}
              />
            )}
          </Field>
        </section>
        <section className="settings-row" id="history">
          <h2>Retention</h2>
          <p className="small dim">
            Retention is set for each{" "}
            <Link to="/workflows" className="link">
              workflow
            </Link>{" "}
            and{" "}
            <Link to="/sources" className="link">
              source
            </Link>
            , in its settings.
          </p>
        </section>
      </Fields>
      <ChangedMeanwhile form={form} record={org.id} labelOf={(name) => LABELS[name] ?? name} />
      {form.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(form.error)}
        </p>
      )}
      <div className="row">
        <Button look="primary" type="submit" refused={stop} busy={form.isPending && "Saving…"}>
          Save
        </Button>
        <NotSaved form={form} />
      </div>
    </form>
  );
}
