/** The chosen step: its name, its props, its code, what is wrong with it. */

import { Tabs } from "@base-ui/react/tabs";
import { useQuery } from "@tanstack/react-query";
import {
  ArrowDown,
  ArrowUp,
  ChevronDown,
  Copy as CopyIcon,
  Ellipsis,
  Pencil,
  Play,
  Power,
  Trash2,
} from "lucide-react";
import { useRef, useState } from "react";
import { propsOf } from "~/api/props";
import { useRefusal } from "~/shell/session";
import { shortcuts } from "~/shell/shortcuts";
import { Banner } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { Input, Message } from "~/ui/field";
import { Menu, MenuItem, MenuLine } from "~/ui/menu";
import { Tile } from "~/ui/tag";
import { nameProblem, type SavedStep, type StepDraft } from "./model";
import type { Parts } from "./parts";
import { componentOfKey } from "./queries";
import { savedOf } from "./state";
import { useBuilder } from "./use-builder";

type Given = {
  step: StepDraft;
  at: number;
  parts: Parts;
  onTest: (kind: "to" | "alone") => void;
  onMove: (by: -1 | 1) => void;
  onRename: (name: string) => void;
  onGone: () => void;
  onCopy: () => void;
};

export function StepEditor(given: Given) {
  const { step, parts } = given;
  const builder = useBuilder();
  const saved = savedOf(builder.state, step);
  const isCode = step.runs.kind === "code";
  const [tab, setTab] = useState<"props" | "code">(isCode ? "code" : "props");
  const refusal = builder.state.refusal?.step === step.key ? builder.state.refusal : undefined;
  const result = builder.test.ofStep(step.key);
  const thrown = result?.status === "failed" && !result.changed ? result : undefined;
  return (
    <Tabs.Root
      className="bld-step"
      value={tab}
      onValueChange={(next) => setTab(next === "props" ? "props" : "code")}
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
        </Tabs.List>
        <span className="grow" />
        <StepMenu {...given} />
        <TestButton step={step} at={given.at} onTest={given.onTest} />
      </div>
      {refusal !== undefined && (
        <div className="bld-wrong">
          <Banner kind="failed" role="alert" title="The server refused this step">
            {refusal.message}
          </Banner>
        </div>
      )}
      {refusal === undefined && thrown !== undefined && (
        <div className="bld-wrong">
          <Banner kind="failed" role="alert" title="It threw in the last test">
            <span className="mono">{thrown.message}</span>
            {thrown.line !== undefined && <> In line {thrown.line}.</>}
          </Banner>
        </div>
      )}
      <Tabs.Panel value="props" className="bld-panel scroll" tabIndex={-1}>
        <Props step={step} saved={saved} parts={parts} />
      </Tabs.Panel>
      <Tabs.Panel value="code" className="bld-panel bld-code" tabIndex={-1}>
        <Code step={step} saved={saved} wrongLine={refusal?.line ?? thrown?.line} />
      </Tabs.Panel>
    </Tabs.Root>
  );
}

function TestButton({ step, at, onTest }: Pick<Given, "step" | "at" | "onTest">) {
  const { test } = useBuilder();
  const refused = useRefusal("deploy");
  const alone = test.standsAlone(step.key);
  return (
    <span className="row bld-test">
      <Button
        icon={Play}
        keys={shortcuts.testTo.keys}
        refused={refused}
        busy={test.run.isPending && "Testing…"}
        onClick={() => onTest("to")}
      >
        Test to here
      </Button>
      {at > 0 && refused === undefined && (
        <Menu label="Other tests" trigger={<IconButton icon={ChevronDown} label="Other tests" />}>
          <MenuItem disabled={!alone || test.run.isPending} onSelect={() => onTest("alone")}>
            {alone
              ? "Test this step alone"
              : "Test this step alone, once those before have results"}
          </MenuItem>
        </Menu>
      )}
    </span>
  );
}

function Name({ step, onRename }: { step: StepDraft; onRename: (name: string) => void }) {
  const { draft, edit } = useBuilder();
  const refused = useRefusal("deploy");
  const [text, setText] = useState<string | undefined>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  if (text === undefined) {
    return (
      <>
        <h2 className="mono cut">{step.namespace}</h2>
        {refused === undefined && (
          <IconButton
            ref={button}
            icon={Pencil}
            size="sm"
            label="Rename"
            onClick={() => setText(step.namespace)}
          />
        )}
      </>
    );
  }
  const problem = nameProblem(draft.steps, { key: step.key, namespace: text });
  const end = () => {
    setText(undefined);
    requestAnimationFrame(() => button.current?.focus());
  };
  const rename = () => {
    if (problem !== undefined) return;
    if (text !== step.namespace) {
      edit(
        {
          ...draft,
          steps: draft.steps.map((each) =>
            each.key === step.key ? { ...each, namespace: text } : each,
          ),
        },
        `rename ${step.namespace}`,
      );
      onRename(text);
    }
    end();
  };
  return (
    <form
      className="bld-name"
      onSubmit={(event) => {
        event.preventDefault();
        rename();
      }}
    >
      <Input
        mono
        small
        autoFocus
        aria-label="Name of the step"
        aria-invalid={problem === undefined ? undefined : true}
        aria-describedby="step-name-problem"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => (problem === undefined ? rename() : end())}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          end();
        }}
      />
      {problem !== undefined && (
        <span className="bld-name-problem">
          <Message id="step-name-problem" error={problem} />
        </span>
      )}
    </form>
  );
}

function StepMenu({ step, at, onMove, onGone, onCopy }: Given) {
  const { draft, edit } = useBuilder();
  const refused = useRefusal("deploy");
  if (refused !== undefined) return null;
  const { namespace } = step;
  return (
    <Menu
      label={`More for ${namespace}`}
      trigger={<IconButton icon={Ellipsis} size="sm" label="More" />}
    >
      <MenuItem
        icon={ArrowUp}
        keys={shortcuts.moveUp.keys}
        disabled={at === 0}
        onSelect={() => onMove(-1)}
      >
        Move up
      </MenuItem>
      <MenuItem
        icon={ArrowDown}
        keys={shortcuts.moveDown.keys}
        disabled={at === draft.steps.length - 1}
        onSelect={() => onMove(1)}
      >
        Move down
      </MenuItem>
      <MenuItem icon={CopyIcon} onSelect={onCopy}>
        Duplicate
      </MenuItem>
      <MenuItem
        icon={Power}
        onSelect={() =>
          edit(
            {
              ...draft,
              steps: draft.steps.map((each) =>
                each.key === step.key ? { ...each, disabled: !each.disabled } : each,
              ),
            },
            `${step.disabled ? "turn on" : "turn off"} ${namespace}`,
          )
        }
      >
        {step.disabled ? "Turn on" : "Turn off"}
      </MenuItem>
      <MenuLine />
      <MenuItem
        icon={Trash2}
        danger
        onSelect={() => {
          onGone();
          edit(
            { ...draft, steps: draft.steps.filter(({ key }) => key !== step.key) },
            `remove ${namespace}`,
          );
        }}
      >
        Remove
      </MenuItem>
    </Menu>
  );
}

/** Definitions of the props of a step, saved or not. */
function useComponent(step: StepDraft, saved: SavedStep | undefined) {
  const key =
    step.runs.kind === "action" && saved?.componentKey !== step.runs.component
      ? step.runs.component
      : undefined;
  const { data, error } = useQuery({ ...componentOfKey(key ?? ""), enabled: key !== undefined });
  if (key === undefined) {
    return {
      defs: saved?.defs ?? [],
      target: saved?.componentId,
      code: saved?.code ?? "",
      sealed: saved?.sealed ?? [],
      error: null,
    };
  }
  return {
    defs: data === undefined ? undefined : propsOf(data.configurable_props),
    target: key,
    code: data?.code ?? "",
    sealed: [],
    error,
  };
}

function Props({
  step,
  saved,
  parts,
}: {
  step: StepDraft;
  saved: SavedStep | undefined;
  parts: Parts;
}) {
  const { state, draft, edit } = useBuilder();
  const refused = useRefusal("deploy");
  const { defs, target, sealed, error } = useComponent(step, saved);
  const refusal = state.refusal?.step === step.key ? state.refusal.problems : {};
  if (error !== null) {
    return (
      <div className="bld-wrong">
        <Banner kind="failed" role="alert" title="The action could not be read">
          {error.message}
        </Banner>
      </div>
    );
  }
  if (defs === undefined) return <p className="bld-none dim">Reading the action…</p>;
  if (defs.length === 0 || target === undefined) {
    return (
      <div className="bld-none">
        <p className="mid">
          {step.runs.kind === "action"
            ? "This action has no props."
            : "The code declares no props. What it declares under props is asked for here once the draft is saved:"}
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
        sealed,
        refused: refusal,
        readOnly: refused !== undefined,
        onValues: (props, { form, secrets }) =>
          edit(
            {
              ...draft,
              steps: draft.steps.map((each) =>
                each.key === step.key ? { ...each, props, form, secrets } : each,
              ),
            },
            `configure ${step.namespace}`,
            `props ${step.key}`,
          ),
      })}
    </div>
  );
}

function Code({
  step,
  saved,
  wrongLine,
}: {
  step: StepDraft;
  saved: SavedStep | undefined;
  wrongLine: number | undefined;
}) {
  const { draft, edit } = useBuilder();
  const refused = useRefusal("deploy");
  const { code } = useComponent(step, saved);
  const own = step.runs.kind === "code";
  return (
    <>
      {!own && (
        <p className="bld-note small">
          The code of a published action. Add a step of your own code to change what it does.
        </p>
      )}
      <Editor
        key={own ? "own" : code}
        language="javascript"
        label={`Code of ${step.namespace}`}
        value={step.runs.kind === "code" ? step.runs.code : code}
        readOnly={!own || refused !== undefined}
        wrongLine={wrongLine}
        invalid={wrongLine !== undefined}
        maxHeight="none"
        onChange={(text) => {
          if (!own) return;
          edit(
            {
              ...draft,
              steps: draft.steps.map((each) =>
                each.key === step.key ? { ...each, runs: { kind: "code", code: text } } : each,
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
