/** Actions on the pinned result of a step: pin it, edit it as JSON, unpin it. */

import { PencilLine, Pin, PinOff } from "lucide-react";
import { useState } from "react";
import { exactText } from "~/json/exact";
import { useKeptText } from "~/shell/kept-text";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Message } from "~/ui/field";
import type { StepDraft } from "./model";
import { pinFrom } from "./pins";
import { useBuilder } from "./use-builder";

export function PinActs({ step }: { step: StepDraft }) {
  const { test } = useBuilder();
  const refused = useRefusal("deploy");
  const [edits, setEdits] = useState(false);
  const pin = test.pins[step.key];
  const result = test.exportsOf(step.key);
  return (
    <>
      {pin === undefined ? (
        result !== undefined && (
          <Button
            size="sm"
            look="quiet"
            icon={Pin}
            refused={refused}
            onClick={() => test.pin(step.key, result)}
          >
            Pin
          </Button>
        )
      ) : (
        <Button
          size="sm"
          look="quiet"
          icon={PinOff}
          refused={refused}
          onClick={() => test.unpin(step.key)}
        >
          Unpin
        </Button>
      )}
      {(pin !== undefined || result === undefined) && (
        <Button
          size="sm"
          look="quiet"
          icon={PencilLine}
          refused={refused}
          onClick={() => setEdits(true)}
        >
          {pin === undefined ? "Pin a result…" : "Edit the pin…"}
        </Button>
      )}
      {edits && <EditPin step={step} onClose={() => setEdits(false)} />}
    </>
  );
}

function EditPin({ step, onClose }: { step: StepDraft; onClose: () => void }) {
  const { state, test } = useBuilder();
  const [text, setText, isTyped] = useKeptText(
    `dialog.pin.${state.base.id}.${step.namespace}`,
    () => exactText(test.pins[step.key] ?? { $return_value: null }, 2) ?? "",
  );
  const typed = pinFrom(text);
  const problem = "problem" in typed ? typed.problem : undefined;
  const take = () => {
    if ("problem" in typed) return;
    test.pin(step.key, typed.pin);
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Pinned result"
      about={step.namespace}
      size="middle"
      typed={isTyped}
      onSubmit={take}
      foot={
        <>
          <CloseDialog />
          <Button look="primary" keys="mod+enter" refused={problem} onClick={take}>
            Pin
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p className="small dim">
          Tests use it instead of running <span className="mono">{step.namespace}</span>.{" "}
          <span className="mono">$return_value</span> is the value that the step returns; other
          names are its exports.
        </p>
        <Editor
          language="json"
          label={`Pinned result of ${step.namespace}`}
          value={text}
          onChange={setText}
          invalid={problem !== undefined}
          minHeight={160}
          maxHeight="50dvh"
        />
        {problem !== undefined && <Message error={problem} />}
      </div>
    </Dialog>
  );
}
