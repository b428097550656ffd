/** All values of a form as one JSON: to be read, copied, or typed at once. Secrets are not in it. */

import { Braces } from "lucide-react";
import { useState } from "react";
import { isObject, type JsonObject } from "~/api/json";
import { useKeptText } from "~/shell/kept-text";
import { Button } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { Copy } from "~/ui/copy";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Message } from "~/ui/field";
import type { PropForm } from "./use-prop-form";
import { isMadeByServer, readJson } from "./values";

export function AsJson({ form }: { form: PropForm }) {
  const [asks, setAsks] = useState(false);
  if (form.props.filter((prop) => prop.alert === undefined).length < 2) return null;
  return (
    <p className="prop-as-json">
      <Button size="sm" look="quiet" icon={Braces} onClick={() => setAsks(true)}>
        Show as JSON
      </Button>
      {asks && <JsonDialog form={form} onClose={() => setAsks(false)} />}
    </p>
  );
}

function shownValues({ props, values }: PropForm): JsonObject {
  const sealed = new Set(props.flatMap(({ name, secret }) => (secret ? [name] : [])));
  return Object.fromEntries(Object.entries(values).filter(([name]) => !sealed.has(name)));
}

/** What is wrong with values that are typed as one. */
function problemOf(form: PropForm, text: string): string | undefined {
  const result = readJson(text);
  if ("problem" in result) return result.problem;
  if (!isObject(result.value)) return "Allowed: an object with a value for each field.";
  const known = form.props.filter((prop) => !prop.secret && !isMadeByServer(prop));
  const unknown = Object.keys(result.value).find(
    (name) => !known.some((prop) => prop.name === name),
  );
  return unknown === undefined
    ? undefined
    : `\`${unknown}\` is not a field of the form. Allowed: ${known.map(({ name }) => name).join(", ")}.`;
}

function JsonDialog({ form, onClose }: { form: PropForm; onClose: () => void }) {
  const [text, setText, isTyped] = useKeptText(`dialog.values.${form.target}`, () =>
    JSON.stringify(shownValues(form), null, 2),
  );
  const problem = problemOf(form, text);
  const take = () => {
    const result = readJson(text);
    if (problem !== undefined || !("value" in result) || !isObject(result.value)) return;
    form.takeAll(result.value);
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Values as JSON"
      size="wide"
      typed={isTyped}
      onSubmit={take}
      foot={
        <>
          <Copy named label="Copy" text={() => text} />
          <span className="grow" />
          <CloseDialog />
          <Button look="primary" keys="mod+enter" refused={problem} onClick={take}>
            Apply
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p className="mid">A field that is left out has no value. Secrets are kept.</p>
        <Editor
          language="json"
          label="Form values"
          value={text}
          onChange={setText}
          invalid={problem !== undefined}
          minHeight={200}
          maxHeight="50dvh"
        />
        {problem !== undefined && <Message error={problem} />}
      </div>
    </Dialog>
  );
}
