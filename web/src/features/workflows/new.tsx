/** A new workflow: its name and what starts it. It begins as a draft; nothing runs before it is deployed. */

import "./list.css";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { useKeptField } from "~/shell/kept-text";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import type { Item } from "~/ui/combobox";
import { Field, Fields, Input } from "~/ui/field";
import { Crumbs, PageHead } from "~/ui/pane";
import { ChooseSource } from "./choose-source";
import { FIRST_CODE } from "./model";
import type { Parts } from "./parts";
import { sourceNamesQuery } from "./queries";
import type { TriggerRequest } from "./request";

type Start = "http" | "timer" | "source" | "none";

const ways: readonly { start: Start; name: string; says: string }[] = [
  {
    start: "http",
    name: "A request",
    says: "Gets its own URL; each request is an event.",
  },
  {
    start: "timer",
    name: "A schedule",
    says: "Every 15 minutes to start with; any interval or cron expression.",
  },
  { start: "source", name: "Events of a source", says: "A source that is already deployed." },
  { start: "none", name: "Nothing yet", says: "Run it by hand, or choose later." },
];

const isStart = (value: unknown): value is Start => ways.some(({ start }) => start === value);

function triggersOf(start: Start, source: string | undefined): TriggerRequest[] {
  switch (start) {
    case "http":
      return [{ type: "http" }];
    case "timer":
      return [{ type: "timer", props: { intervalSeconds: 900 } }];
    case "source":
      return source === undefined ? [] : [{ type: "source", id: source }];
    case "none":
      return [];
  }
}

export function NewWorkflow({
  of,
  event,
  renderNewSource,
}: {
  of: Item | null;
  /** Of that source: what the first test is with. */
  event?: string | undefined;
  renderNewSource: Parts["renderNewSource"];
}) {
  useTitle("New workflow");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const name = useKeptField("new-workflow.name");
  const [start, setStart] = useState<Start>(of === null ? "http" : "source");
  const [source, setSource] = useState<Item | null>(of);
  const [deploys, setDeploys] = useState(false);
  const label = useId();
  const make = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/workflows", {
          body: {
            name: name.text.trim() === "" ? "Untitled workflow" : name.text.trim(),
            triggers: triggersOf(start, source?.key),
            steps: [{ namespace: "code", code: FIRST_CODE }],
            settings: { auto_deploy: false },
          },
        }),
      ),
    onSuccess: ({ id }) => {
      name.done("");
      void queries.invalidateQueries({ queryKey: ["workflows"] });
      const isOfSource = event !== undefined && start === "source" && source?.key === of?.key;
      const search = isOfSource ? { event } : {};
      void navigate({ to: "/workflows/$id/edit", params: { id }, search });
    },
  });
  const needs = start === "source" && source === null ? "Choose a source first." : undefined;
  return (
    <>
      <PageHead>
        <Crumbs>
          <Link to="/workflows">Workflows</Link>
          <h1>New</h1>
        </Crumbs>
      </PageHead>
      <form
        className="scroll"
        onSubmit={(event) => {
          event.preventDefault();
          if (refused === undefined && needs === undefined && !make.isPending) make.mutate();
        }}
      >
        <div className="new-workflow">
          <Fields className="fields" refused={refused}>
            <h2 id={label}>What starts it?</h2>
            <RadioGroup
              className="new-ways"
              aria-labelledby={label}
              disabled={refused !== undefined}
              value={start}
              onValueChange={(next) => {
                if (isStart(next)) setStart(next);
              }}
            >
              {ways.map((way) => (
                <Way key={way.start} {...way} />
              ))}
            </RadioGroup>
            {start === "source" && (
              <ChooseSource value={source} onChange={setSource} onNew={() => setDeploys(true)} />
            )}
            <Field label="Name">
              {(control) => (
                <Input
                  {...control}
                  placeholder="Untitled workflow"
                  value={name.text}
                  onChange={(event) => name.set(event.target.value)}
                />
              )}
            </Field>
          </Fields>
          {make.error !== null && (
            <Banner kind="failed" role="alert" title="The workflow was not created">
              {sentence(make.error)}
            </Banner>
          )}
          <div>
            <Button
              look="primary"
              size="lg"
              type="submit"
              refused={refused ?? needs}
              busy={make.isPending && "Creating…"}
            >
              Create workflow
            </Button>
          </div>
          <p className="small dim">
            Starts as a draft with one step. Nothing runs until you deploy it.
          </p>
        </div>
      </form>
      {/* Its forms are none of this one. */}
      {deploys &&
        renderNewSource({
          onClose: () => setDeploys(false),
          onDeployed: ({ id, name }) => {
            setDeploys(false);
            setSource({ key: id, label: name });
            void queries.invalidateQueries({ queryKey: sourceNamesQuery.queryKey });
          },
        })}
    </>
  );
}

function Way({ start, name, says }: { start: Start; name: string; says: string }) {
  const id = useId();
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the radio within is one
    <label>
      <Radio.Root value={start} className="radio" aria-labelledby={id} aria-describedby={`${id}-s`}>
        <Radio.Indicator className="radio-dot" />
      </Radio.Root>
      <span>
        <span id={id} className="name">
          {name}
        </span>
        <br />
        <span id={`${id}-s`} className="small mid">
          {says}
        </span>
      </span>
    </label>
  );
}
