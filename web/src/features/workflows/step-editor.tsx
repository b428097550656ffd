/** Editor of the chosen step: its name, props, code and problems. */

import "./step-code.css";
import { Tabs } from "@base-ui/react/tabs";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { propsOf } from "~/api/props";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { Says } from "~/ui/code/completion";
import { Editor } from "~/ui/code/editor";
import { plural } from "~/ui/format";
import type { Picker } from "~/ui/json/picker";
import { Tile } from "~/ui/tag";
import { Worded } from "~/ui/worded";
import { ValueOfExpression } from "./expression-value";
import { type SavedStep, type StepDraft, savedStepsOf } from "./model";
import type { Parts } from "./parts";
import { componentOfKey, deploymentQuery } from "./queries";
import { CONTEXT, RUNTIME } from "./runtime-names";
import { savedOf } from "./state";
import { type Given, Name, StepMenu, TestButton } from "./step-head";
import { StepSettings } from "./step-settings";
import type { Hand } from "./step-types";
import { useBuilder } from "./use-builder";
import { useFailing } from "./use-failing";

const TABS = ["props", "code", "settings"] as const;
type Tab = (typeof TABS)[number];

type StepGiven = Given & { parts: Parts; line: number | undefined; picker: Picker | undefined };

export function StepEditor(given: StepGiven) {
  const { step, parts } = given;
  const builder = useBuilder();
  const saved = savedOf(builder.state, step);
  const isCode = step.runs.kind === "code";
  const [tab, setTab] = useState<Tab>(isCode || given.line !== undefined ? "code" : "props");
  const refusal = builder.state.refusal?.step === step.key ? builder.state.refusal : undefined;
  const { test } = builder;
  const result = test.ofStep(step.key);
  const thrown = result?.status === "failed" && !result.changed ? result : undefined;
  return (
    <Tabs.Root
      className="bld-step"
      value={tab}
      onValueChange={(next) => setTab(TABS.find((each) => each === next) ?? "props")}
    >
      <div className="bld-head">
        {step.runs.kind === "action" && <Tile name={step.runs.component} />}
        <Name step={step} onRename={given.onRename} />
        <Tabs.List className="tabs">
          <Tabs.Tab value="props" className="tab">
            Configure
          </Tabs.Tab>
          <Tabs.Tab value="code" className="tab">
            Code
          </Tabs.Tab>
          <Tabs.Tab value="settings" className="tab">
            Settings
          </Tabs.Tab>
        </Tabs.List>
        <span className="grow" />
        <StepMenu {...given} />
        <TestButton step={step} at={given.at} onTest={given.onTest} />
      </div>
      {refusal !== undefined && (
        <div className="bld-wrong">
          <Banner kind="failed" role="alert" title="The server rejected this step">
            {refusal.message}
          </Banner>
        </div>
      )}
      {refusal === undefined && thrown !== undefined && (
        <div className="bld-wrong">
          <Banner
            kind="failed"
            role="alert"
            title={
              test.said(step.key)?.says === "run"
                ? "This step failed in this run"
                : "This step failed in the last test"
            }
          >
            <span className="mono">
              <Worded text={thrown.message ?? ""} />
            </span>
            {thrown.line !== undefined && <> In line {thrown.line}.</>}
          </Banner>
        </div>
      )}
      {refusal === undefined && thrown === undefined && <Failing step={saved?.namespace} />}
      <Tabs.Panel value="props" className="bld-panel scroll" tabIndex={-1}>
        <Props step={step} saved={saved} parts={parts} picker={given.picker} />
      </Tabs.Panel>
      <Tabs.Panel value="code" className="bld-panel bld-code" tabIndex={-1}>
        <Code
          step={step}
          saved={saved}
          wrongLine={refusal?.line ?? thrown?.line}
          showLine={given.line}
        />
      </Tabs.Panel>
      <Tabs.Panel value="settings" className="bld-panel scroll" tabIndex={-1}>
        <StepSettings step={step} />
      </Tabs.Panel>
    </Tabs.Root>
  );
}

/** Runs of the live version that failed at this step. */
function Failing({ step }: { step: string | undefined }) {
  const group = useFailing().find((each) => each.step === step);
  if (group === undefined) return null;
  return (
    <div className="bld-wrong">
      <Banner
        kind="failed"
        title={`${plural(group.count, "run")} of the live version failed at this step`}
        act={
          <Link
            to="."
            search={(had) => ({ ...had, run: group.last_run_id })}
            className={buttonClass({ size: "sm" })}
          >
            Use the newest event
          </Link>
        }
      >
        <span className="mono">
          {group.code}: <Worded text={group.message} />
        </span>
      </Banner>
    </div>
  );
}

/** Definitions of the props of a step, saved or not. */
function useComponent(step: StepDraft, saved: SavedStep | undefined) {
  const key =
    step.runs.kind === "action" && saved?.componentKey !== step.runs.component
      ? step.runs.component
      : undefined;
  const {
    data,
    error,
    refetch: again,
  } = useQuery({ ...componentOfKey(key ?? ""), enabled: key !== undefined });
  if (key === undefined) {
    return {
      defs: saved?.defs ?? [],
      target: saved?.componentId,
      code: saved?.code ?? "",
      sealed: saved?.sealed ?? [],
      error: null,
      again,
    };
  }
  return {
    defs: data === undefined ? undefined : propsOf(data.configurable_props),
    target: key,
    code: data?.code ?? "",
    sealed: [],
    error,
    again,
  };
}

function Props({
  step,
  saved,
  parts,
  picker,
}: {
  step: StepDraft;
  saved: SavedStep | undefined;
  parts: Parts;
  picker: Picker | undefined;
}) {
  const { state, draft, edit, test } = useBuilder();
  const refused = useRefusal("deploy");
  const { defs, target, sealed, error, again } = useComponent(step, saved);
  const order = draft.steps.map(({ key, namespace }) => `${key} ${namespace}`).join();
  // An event may have megabytes: it is not written anew with each key.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are what the data are made of
  const data = useMemo(
    () => JSON.stringify(test.dataFor(step.key)),
    [test.event.value, test.tests, order, step.key],
  );
  const refusal = state.refusal?.step === step.key ? state.refusal.problems : {};
  if (error !== null) {
    return <ReadFailed what="The action" error={error} again={again} />;
  }
  if (defs === undefined) return <p className="bld-none dim">Loading the action…</p>;
  if (defs.length === 0 || target === undefined) {
    return (
      <div className="bld-none">
        <p className="mid">
          {step.runs.kind === "action"
            ? "This action has no props."
            : "The code declares no props. Declared props appear here once the draft is saved:"}
        </p>
        {step.runs.kind === "code" && (
          <pre className="code">{`props: {\n  token: { type: "string", secret: true },\n}`}</pre>
        )}
      </div>
    );
  }
  // Fields keep what is typed in them: they are made anew when values change by other means.
  const made = `${step.key} ${state.revision} ${defs.map(({ name }) => name).join()}`;
  return (
    <div className="bld-props" key={made}>
      {parts.renderForm({
        target,
        props: defs,
        stored: step.props,
        invalid: step.invalid,
        sealed,
        refused: refusal,
        locked: refused,
        // Who may not deploy may not have code run.
        renderValue: (value) =>
          refused === undefined && (
            <ValueOfExpression
              project={state.base.project_id}
              value={JSON.stringify(value)}
              data={data}
            />
          ),
        known: () => ({ steps: test.dataFor(step.key), event: test.event.value }),
        picker,
        onValues: (props, more) =>
          edit(
            {
              ...draft,
              steps: draft.steps.map((each) =>
                each.key === step.key ? { ...each, props, ...more } : each,
              ),
            },
            `configure ${step.namespace}`,
            `props ${step.key}`,
          ),
      })}
    </div>
  );
}

/** Types of what is at hand, made when they are asked for first. */
function typesOnce(hand: Hand): () => Promise<Record<string, string>> {
  let made: Promise<Record<string, string>> | undefined;
  return () => {
    made ??= import("./step-types").then(({ typeFiles }) => typeFiles(hand));
    return made;
  };
}

function Code({
  step,
  saved,
  wrongLine,
  showLine,
}: {
  step: StepDraft;
  saved: SavedStep | undefined;
  wrongLine: number | undefined;
  showLine: number | undefined;
}) {
  const { state, draft, edit, test } = useBuilder();
  const { base } = state;
  const refused = useRefusal("deploy");
  const { data: live } = useQuery({
    ...deploymentQuery(base.id, base.deployment_id ?? ""),
    enabled: base.deployment_id !== null,
  });
  const liveCode =
    live && savedStepsOf(live.steps).find(({ namespace }) => namespace === step.namespace)?.code;
  const { code, defs = [] } = useComponent(step, saved);
  const own = step.runs.kind === "code";
  const order = draft.steps.map(({ key, namespace }) => `${key} ${namespace}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are what the data are made of
  const types = useMemo(
    () => typesOnce(test.handFor(step.key)),
    [test.event.value, test.tests, order, step.key],
  );
  return (
    <>
      {!own && (
        <p className="bld-note small">
          The code of a published action is read-only. Add a code step to write your own.
        </p>
      )}
      <Editor
        key={own ? "own" : code}
        language="javascript"
        label={`Code of ${step.namespace}`}
        value={step.runs.kind === "code" ? step.runs.code : code}
        readOnly={!own || refused !== undefined}
        wrongLine={wrongLine}
        showLine={showLine}
        invalid={wrongLine !== undefined}
        maxHeight="none"
        types={own && refused === undefined ? types : undefined}
        against={own ? liveCode : undefined}
        known={() => ({
          steps: {
            ...test.dataFor(step.key),
            trigger: { event: test.event.value, context: CONTEXT },
          },
          this: Object.fromEntries(defs.map(({ name, type }) => [name, new Says(type)])),
          $: RUNTIME,
        })}
        onChange={(text) => {
          if (!own) return;
          edit(
            {
              ...draft,
              steps: draft.steps.map((each) =>
                each.key === step.key
                  ? { ...each, runs: { ...each.runs, kind: "code", code: text } }
                  : each,
              ),
            },
            `edit ${step.namespace}`,
            `code ${step.key}`,
          );
        }}
      />
    </>
  );
}
