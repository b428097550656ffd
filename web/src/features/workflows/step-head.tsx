/** Name, acts and tests of the chosen step. */

import {
  ArrowDown,
  ArrowUp,
  ChevronDown,
  ClipboardCopy,
  Copy as CopyIcon,
  Ellipsis,
  Pencil,
  Play,
  Power,
  Trash2,
} from "lucide-react";
import { useRef, useState } from "react";
import { useRefusal } from "~/shell/session";
import { shortcuts } from "~/shell/shortcuts";
import { Button, IconButton } from "~/ui/button";
import { copyText } from "~/ui/copy";
import { Input, Message } from "~/ui/field";
import { Menu, MenuItem, MenuLine } from "~/ui/menu";
import { say } from "~/ui/toast";
import type { StepDraft } from "./model";
import { stepYaml } from "./paste";
import { referenceReader, renamed } from "./references";
import { nameProblem } from "./step-names";
import { READING } from "./test-event";
import { useBuilder } from "./use-builder";

export type Given = {
  step: StepDraft;
  at: number;
  onTest: (kind: "to" | "alone") => void;
  onMove: (by: -1 | 1) => void;
  onRename: (name: string) => void;
  onGone: () => void;
  onCopy: () => void;
};

export function TestButton({ step, at, onTest }: Pick<Given, "step" | "at" | "onTest">) {
  const { test } = useBuilder();
  const refused = useRefusal("deploy");
  const alone = test.standsAlone(step.key);
  return (
    <span className="row bld-test">
      <Button
        icon={Play}
        keys={shortcuts.testTo.keys}
        refused={refused ?? (test.isReading ? READING : undefined)}
        busy={test.run.isPending && "Testing…"}
        onClick={() => onTest("to")}
      >
        <span className="sr-narrow">Test to here</span>
      </Button>
      {at > 0 && (
        <Menu
          label="More tests"
          refused={refused}
          trigger={<IconButton icon={ChevronDown} label="More tests" />}
        >
          <MenuItem
            disabled={!alone || test.run.isPending}
            {...(alone ? { keys: shortcuts.testStep.keys } : {})}
            onSelect={() => onTest("alone")}
          >
            {alone
              ? "Test this step alone"
              : "Test this step alone (earlier steps need results first)"}
          </MenuItem>
        </Menu>
      )}
    </span>
  );
}

export function Name({ step, onRename }: { step: StepDraft; onRename: (name: string) => void }) {
  const { draft, edit, newest } = useBuilder();
  const refused = useRefusal("deploy");
  const [text, setText] = useState<string | undefined>(undefined);
  const button = useRef<HTMLButtonElement>(null);
  if (text === undefined) {
    return (
      <>
        <h2 className="mono cut">{step.namespace}</h2>
        <IconButton
          ref={button}
          icon={Pencil}
          size="sm"
          label="Rename"
          refused={refused}
          onClick={() => setText(step.namespace)}
        />
      </>
    );
  }
  const problem = nameProblem(draft.steps, { key: step.key, namespace: text });
  const end = () => {
    setText(undefined);
    requestAnimationFrame(() => button.current?.focus());
  };
  const rename = async () => {
    if (problem !== undefined) return;
    end();
    if (text === step.namespace) return;
    const read = await referenceReader();
    // Another edit may have come in between.
    edit(renamed(read, newest(), step.key, text), `rename ${step.namespace}`);
    onRename(text);
  };
  return (
    <form
      className="bld-name"
      onSubmit={(event) => {
        event.preventDefault();
        void rename();
      }}
    >
      <Input
        mono
        small
        autoFocus
        aria-label="Step name"
        aria-invalid={problem === undefined ? undefined : true}
        aria-describedby="step-name-problem"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => (problem === undefined ? void rename() : end())}
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

export function StepMenu({ step, at, onMove, onGone, onCopy }: Given) {
  const { draft, edit } = useBuilder();
  const refused = useRefusal("deploy");
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
        refused={refused}
        onSelect={() => onMove(-1)}
      >
        Move up
      </MenuItem>
      <MenuItem
        icon={ArrowDown}
        keys={shortcuts.moveDown.keys}
        disabled={at === draft.steps.length - 1}
        refused={refused}
        onSelect={() => onMove(1)}
      >
        Move down
      </MenuItem>
      <MenuItem icon={CopyIcon} keys={shortcuts.duplicate.keys} refused={refused} onSelect={onCopy}>
        Duplicate
      </MenuItem>
      <MenuItem
        icon={ClipboardCopy}
        keys="mod+c"
        onSelect={async () => {
          if (await copyText(stepYaml(step))) say({ title: `${namespace} copied as YAML` });
        }}
      >
        Copy as YAML
      </MenuItem>
      <MenuItem
        icon={Power}
        refused={refused}
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
        keys={shortcuts.removeStep.keys}
        danger
        refused={refused}
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
