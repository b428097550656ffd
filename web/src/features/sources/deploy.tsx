/** Deploying a source: its form on the left, what will run on the right. The form comes from the route. */

import { asJsonObject } from "~/api/json";
import "./deploy.css";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useId } from "react";
import { client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import type { JsonObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import { problemsOf } from "~/api/props";
import { useKeptField } from "~/shell/kept-text";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button, buttonClass } from "~/ui/button";
import { cn } from "~/ui/cn";
import { Field, Fields, Input } from "~/ui/field";
import { minute, plural } from "~/ui/format";
import { Markdown } from "~/ui/markdown";
import { say } from "~/ui/toast";
import { type Runnable, WhatRuns } from "./what-runs";

/** What the form of props offers to those who send it. */
export type FormState = {
  props: readonly PropDef[];
  values: JsonObject;
  needs: readonly string[];
  revealed: boolean;
  keptAt: number | undefined;
  formId: () => string | undefined;
  reveal: () => boolean;
  refuse: (problems: Readonly<Record<string, string>>) => void;
  done: (taken?: JsonObject) => void;
};

export function DeploySource({
  named,
  name,
  description,
  runs,
  form,
  fieldId,
  onDeployed,
  children,
}: {
  /** How the code is named to the server. */
  named: { key: string } | { component_id: string };
  name: string;
  description: string | null;
  runs: Runnable;
  form: FormState;
  fieldId: (prop: string) => string;
  /** Takes the source; without it, its page is gone to. */
  onDeployed?: ((source: { id: string; name: string }) => void) | undefined;
  children: ReactNode;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const kept = `deploy-source.${"key" in named ? named.key : named.component_id}`;
  const titled = useKeptField(`${kept}.name`);
  const said = useKeptField(`${kept}.message`);
  const [given, message] = [titled.text, said.text];
  const deploy = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/sources", {
          body: {
            ...named,
            configured_props: asJsonObject(form.values),
            ...(given.trim() === "" ? {} : { name: given.trim() }),
            ...(message.trim() === "" ? {} : { message: message.trim() }),
            ...(form.formId() === undefined ? {} : { dynamic_props_id: form.formId() }),
          },
        }),
      ),
    onSuccess: (source) => {
      form.done();
      titled.done("");
      said.done("");
      say({ title: `${source.name} was deployed`, shape: "succeeded" });
      void queries.invalidateQueries({ queryKey: ["sources"] });
      if (onDeployed === undefined)
        void navigate({ to: "/sources/$id", params: { id: source.id } });
      else onDeployed(source);
    },
    onError: (error) => {
      if (error instanceof ApiError) form.refuse(problemsOf(error.details));
    },
  });
  const go = () => {
    if (refused === undefined && form.reveal()) deploy.mutate();
  };
  const formId = useId();
  const { needs } = form;
  const labels = new Map(form.props.map((prop) => [prop.name, prop.label]));
  const needsPerson = form.revealed && needs.length > 0;
  return (
    <div className="deploy">
      <form
        id={formId}
        className="deploy-form scroll"
        onSubmit={(event) => {
          event.preventDefault();
          go();
        }}
      >
        {description !== null && description !== "" && (
          <div className="mid">
            <Markdown text={description} />
          </div>
        )}
        {needsPerson && (
          <div className="deploy-summary">
            <Banner
              kind="failed"
              role="alert"
              title={`${plural(needs.length, "field")} ${needs.length === 1 ? "needs" : "need"} attention`}
            >
              {needs.map((each, index) => (
                <span key={each}>
                  {index > 0 && ", "}
                  <a className="link" href={`#${fieldId(each)}`}>
                    {labels.get(each) ?? each}
                  </a>
                </span>
              ))}
            </Banner>
          </div>
        )}
        {deploy.error !== null && needs.length === 0 && (
          <div className="deploy-summary">
            <Banner kind="failed" role="alert" title="The source was not deployed">
              {sentence(deploy.error)}
              <Stack error={deploy.error} />
            </Banner>
          </div>
        )}
        <Fields refused={refused}>{children}</Fields>
      </form>
      <aside className="deploy-side" aria-label="What will run">
        <div id="what-runs">
          <WhatRuns of={runs} props={form.props} />
        </div>
        <div className="deploy-name">
          <Field label="Name">
            {(control) => (
              <Input
                {...control}
                disabled={refused !== undefined}
                placeholder={name}
                value={given}
                onChange={(event) => titled.set(event.target.value)}
              />
            )}
          </Field>
          <Field label="Message" hint="Shown in the list of versions.">
            {(control) => (
              <Input
                {...control}
                maxLength={500}
                disabled={refused !== undefined}
                value={message}
                onChange={(event) => said.set(event.target.value)}
              />
            )}
          </Field>
        </div>
        <div className="deploy-go">
          <a className={cn(buttonClass({ size: "lg" }), "only-narrow")} href="#what-runs">
            What will run
          </a>
          <Button
            look="primary"
            size="lg"
            wide
            refused={refused}
            busy={deploy.isPending && "Deploying…"}
            type="submit"
            form={formId}
          >
            Deploy source
          </Button>
          {(needs.length > 0 || form.keptAt !== undefined) && (
            <p className="small dim">
              {needs.length > 0 &&
                `${plural(needs.length, "field")} ${needs.length === 1 ? "needs" : "need"} attention first. `}
              {form.keptAt !== undefined &&
                `Kept in this browser at ${minute(form.keptAt)}, without secrets.`}
            </p>
          )}
        </div>
      </aside>
    </div>
  );
}

/** Where in the component's own code a hook failed. */
function Stack({ error }: { error: Error }) {
  const stack = error instanceof ApiError ? error.details.stack : undefined;
  if (typeof stack !== "string" || stack === "") return null;
  return <pre className="code deploy-stack">{stack}</pre>;
}
