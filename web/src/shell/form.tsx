/**
 * Form of a dialog. A required field that is empty is asked for before anything is sent; a refusal
 * stands beside the field that it names, with a summary on top that leads there.
 */

import {
  type ReactNode,
  type Ref,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { ApiError, sentence } from "~/api/errors";
import { Banner } from "~/ui/banner";
import { FieldErrors } from "~/ui/field";
import { plural } from "~/ui/format";
import { worded } from "~/ui/worded";
import "~/ui/field.css";

type Wrong = {
  /** Of the control. */
  id: string;
  label: string;
  says: string;
  /** What it held then: what is changed is wrong no longer. */
  value: string;
};

export function Form({
  ref,
  error,
  check,
  onSubmit,
  foot,
  children,
}: {
  ref?: Ref<HTMLFormElement>;
  /** The refusal of what was sent. */
  error: Error | null;
  /** What else is wrong before it is sent: a field's name, and what to do. */
  check?: () => readonly [name: string, says: string] | undefined;
  onSubmit: () => void;
  foot: ReactNode;
  children: ReactNode;
}) {
  const form = useRef<HTMLFormElement>(null);
  useImperativeHandle<HTMLFormElement | null, HTMLFormElement | null>(ref, () => form.current);
  const [wrong, setWrong] = useState<readonly Wrong[]>([]);
  const named = error instanceof ApiError ? error.field : undefined;
  // One that stands beside its field is not said on top again once that is changed.
  const [placed, setPlaced] = useState<Error | null>(null);

  useLayoutEffect(() => {
    if (error === null) return;
    const control = controlOf(form.current, named);
    if (control === undefined) return;
    setPlaced(error);
    point([wrongOf(control, sentence(error))], setWrong);
  }, [error, named]);

  // Values change by keys, by choice from a list, and by what is done elsewhere on the page.
  const settle = () => {
    const left = wrong.filter(({ id, value }) => heldBy(document.getElementById(id)) === value);
    if (left.length < wrong.length) setWrong(left);
  };
  useEffect(settle);

  const submit = () => {
    const empty = emptyOf(form.current);
    const other = empty.length > 0 ? undefined : check?.();
    const control = other && controlOf(form.current, other[0]);
    const found = other && control ? [wrongOf(control, other[1])] : empty;
    point(found, setWrong);
    if (found.length === 0) onSubmit();
  };
  return (
    <form
      ref={form}
      className="dialog-form"
      noValidate
      onBlur={settle}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <FieldErrors value={new Map(wrong.map(({ id, says }) => [id, says]))}>
        <div className="dialog-body form-grid">
          {wrong.length > 0 && <Summary of={wrong} />}
          {error !== null && error !== placed && <General error={error} />}
          {children}
        </div>
      </FieldErrors>
      <footer className="dialog-foot">{foot}</footer>
    </form>
  );
}

function Summary({ of }: { of: readonly Wrong[] }) {
  return (
    <Banner
      kind="failed"
      role="alert"
      title={`${plural(of.length, "field")} ${of.length === 1 ? "needs" : "need"} attention`}
    >
      {of.map(({ id, label }, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <button type="button" className="link" onClick={() => focus(id)}>
            {label}
          </button>
        </span>
      ))}
    </Banner>
  );
}

/** A refusal that names no field here. */
function General({ error }: { error: Error }) {
  const place = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    void place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <p role="alert" className="failed-text" ref={place}>
      {worded(sentence(error))}
    </p>
  );
}

function point(found: readonly Wrong[], set: (found: readonly Wrong[]) => void): void {
  set(found);
  const first = found[0];
  // Once what is said is drawn, which moves the field.
  if (first !== undefined) requestAnimationFrame(() => focus(first.id));
}

function focus(id: string): void {
  const control = document.getElementById(id);
  control?.scrollIntoView({ block: "nearest" });
  control?.focus({ preventScroll: true });
}

/** The control of the field of that name in the API, or of what it is a part of. */
function controlOf(form: HTMLFormElement | null, name: string | undefined): Element | undefined {
  const fields = [...(form?.querySelectorAll<HTMLElement>("[data-field]") ?? [])];
  for (
    let at = name;
    at !== undefined && at !== "";
    at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : ""
  ) {
    const field = fields.find(({ dataset }) => dataset.field === at);
    const label = field?.querySelector("label");
    const control = label && document.getElementById(label.htmlFor);
    if (control) return control;
  }
  return undefined;
}

/** What has to be filled in, and is not. */
function emptyOf(form: HTMLFormElement | null): Wrong[] {
  const needed = form?.querySelectorAll("[aria-required='true']:is(input, textarea)") ?? [];
  return [...needed]
    .filter((control) => heldBy(control).trim() === "")
    .map((control) => wrongOf(control, `${labelOf(control)} is required.`));
}

const wrongOf = (control: Element, says: string): Wrong => ({
  id: control.id,
  label: labelOf(control),
  says,
  value: heldBy(control),
});

const heldBy = (control: Element | null): string =>
  control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement
    ? control.value
    : "";

const labelOf = (control: Element): string =>
  document.getElementById(`${control.id}-l`)?.textContent?.trim() ?? "";
