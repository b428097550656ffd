/** Organization: its name, and the recipients of mails about errors. */

import "./settings.css";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { organizationQuery } from "~/api/queries";
import { useKeptField } from "~/shell/kept-text";
import { useRefusal, useSession } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Button } from "~/ui/button";
import { Field, Input, TextArea } from "~/ui/field";
import { say } from "~/ui/toast";

export function Organization() {
  useTitle("Organization");
  const { org } = useSession();
  const { data: record } = useSuspenseQuery(organizationQuery(org.id));
  const queries = useQueryClient();
  const refused = useRefusal("full");
  const kept = `organization.${org.id}`;
  const named = useKeptField(`${kept}.name`, record.name);
  const told = useKeptField(`${kept}.recipients`, record.error_recipients.join("\n"));
  const [name, people] = [named.text, told.text];
  const recipients = people
    .split(/[\s,;]+/)
    .map((each) => each.trim())
    .filter((each) => each !== "");
  const save = useMutation({
    mutationFn: () =>
      data(
        client.PUT("/v1/orgs/{org}", {
          params: { path: { org: org.id } },
          body: { name: name.trim(), error_recipients: recipients },
        }),
      ),
    onSuccess: (changed) => {
      named.done(changed.name);
      told.done(changed.error_recipients.join("\n"));
      queries.setQueryData(organizationQuery(org.id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["session"] });
      say({ title: "Saved", shape: "succeeded" });
    },
  });
  const same =
    name.trim() === record.name && recipients.join(" ") === record.error_recipients.join(" ");
  return (
    <form
      className="settings scroll"
      onSubmit={(event) => {
        event.preventDefault();
        if (!same && refused === undefined) save.mutate();
      }}
    >
      <fieldset className="fields" disabled={refused !== undefined}>
        <section className="settings-row">
          <h2>Organization</h2>
          <div className="form-grid">
            <Field label="Name" optional={false}>
              {(control) => (
                <Input
                  {...control}
                  value={name}
                  onChange={(event) => named.set(event.target.value)}
                />
              )}
            </Field>
            <p className="small dim">
              Id <span className="mono">{record.id}</span>
            </p>
          </div>
        </section>
        <section className="settings-row">
          <h2>Mails about errors</h2>
          <Field
            label="Sent to"
            hint={`Up to ten addresses, one on a line. None: to ${record.email}. A class of errors is mailed once in 24 hours for each workflow.`}
          >
            {(control) => (
              <TextArea
                {...control}
                rows={3}
                value={people}
                onChange={(event) => told.set(event.target.value)}
              />
            )}
          </Field>
        </section>
        <section className="settings-row" id="history">
          <h2>History</h2>
          <p className="small dim">
            How many days and runs of history are kept is set for each{" "}
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
      </fieldset>
      {save.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(save.error)}
        </p>
      )}
      <div className="row">
        <Button
          look="primary"
          type="submit"
          refused={refused ?? (same ? "Nothing is changed." : undefined)}
          busy={save.isPending && "Saving…"}
        >
          Save
        </Button>
      </div>
    </form>
  );
}
