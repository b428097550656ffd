/**
 * Settings of the chosen step: switched on or off, its note, and the limits that it shares with its
 * workflow.
 */

import { Link } from "@tanstack/react-router";
import { numberOf } from "~/api/json";
import { useRefusal } from "~/shell/session";
import { Field, Fields, SwitchRow, TextArea } from "~/ui/field";
import { duration } from "~/ui/format";
import { Fact } from "~/ui/pane";
import type { StepDraft } from "./model";
import { useBuilder } from "./use-builder";

/** As the server has them where a workflow says nothing. */
const TIMEOUT_MS = 30_000;
const MEMORY_MB = 256;
const NOTE_MAX = 2_000;

export function StepSettings({ step }: { step: StepDraft }) {
  const { draft, edit, state } = useBuilder();
  const refused = useRefusal("deploy");
  const { namespace, disabled } = step;
  const { id, settings } = state.base;
  const set = (on: boolean) =>
    edit(
      {
        ...draft,
        steps: draft.steps.map((each) =>
          each.key === step.key ? { ...each, disabled: !on } : each,
        ),
      },
      `${on ? "turn on" : "turn off"} ${namespace}`,
    );
  const say = (note: string) =>
    edit(
      {
        ...draft,
        steps: draft.steps.map((each) =>
          each.key === step.key ? { ...each, note: note === "" ? undefined : note } : each,
        ),
      },
      `note of ${namespace}`,
      `note ${step.key}`,
    );
  return (
    <div className="bld-none">
      <Fields refused={refused}>
        <SwitchRow label="Runs" checked={!disabled} onChange={set} />
        <Field
          label="Note"
          hint="For readers of the step. It is part of the version, and never runs."
        >
          {(control) => (
            <TextArea
              {...control}
              rows={3}
              maxLength={NOTE_MAX}
              value={step.note ?? ""}
              onChange={({ target }) => say(target.value)}
            />
          )}
        </Field>
      </Fields>
      <p className="small mid">
        A step that is off is skipped: <code className="mono">steps.{namespace}</code> does not
        exist for later steps. Its code and values are kept.
      </p>
      <dl className="facts">
        <Fact name="Timeout">
          {duration(numberOf(settings.timeout_ms) ?? TIMEOUT_MS)}, all steps together
        </Fact>
        <Fact name="Memory">{numberOf(settings.memory_mb) ?? MEMORY_MB} MiB</Fact>
        <Fact name="On error">
          {settings.auto_retry === undefined
            ? "the run fails"
            : "the step is retried, with backoff"}
        </Fact>
      </dl>
      <p className="small dim">
        These apply to the whole workflow:{" "}
        <Link to="/workflows/$id/settings" params={{ id }} className="link">
          change them in its settings
        </Link>
        .
      </p>
    </div>
  );
}
