/** Labels of options that were chosen in this browser: what is stored of an option is its value alone. */

import type { PropDef } from "~/api/props";
import { remembered, rememberHere } from "~/shell/remembered";
import { stable } from "~/ui/changes";
import type { PropForm } from "./use-prop-form";

const NAME = "option-labels";
const MOST = 300;
/** A label that is longer is not remembered. */
const LONGEST = 200;

/** The text that `labels` was read from. */
let text = "";
let labels = new Map<string, string>();

function all(): Map<string, string> {
  const now = remembered(NAME);
  if (now !== text) {
    text = now;
    labels = new Map(pairsOf(now));
  }
  return labels;
}

function pairsOf(stored: string): [string, string][] {
  try {
    const given: unknown = JSON.parse(stored === "" ? "[]" : stored);
    if (!Array.isArray(given)) return [];
    return given.flatMap((pair): [string, string][] => {
      const [key, label]: unknown[] = Array.isArray(pair) ? pair : [];
      return typeof key === "string" && typeof label === "string" ? [[key, label]] : [];
    });
  } catch {
    return [];
  }
}

/** An option by its value, and by what was chosen before it: a sheet `0` is another one in each workbook. */
function keyOf(form: Pick<PropForm, "props" | "values">, prop: PropDef, value: unknown): string {
  const before = form.props.slice(
    0,
    form.props.findIndex(({ name }) => name === prop.name),
  );
  const chosen = before.filter((each) => each.asksOptions || each.type === "app");
  return stable([prop.name, value, ...chosen.map(({ name }) => form.values[name] ?? null)]);
}

export function keptLabel(
  form: Pick<PropForm, "props" | "values">,
  prop: PropDef,
  value: unknown,
): string | undefined {
  return prop.asksOptions ? all().get(keyOf(form, prop, value)) : undefined;
}

export function keepLabel(
  form: Pick<PropForm, "props" | "values">,
  prop: PropDef,
  { label, value }: { label: string; value: unknown },
): void {
  if (!prop.asksOptions || label === value || label.length > LONGEST) return;
  const key = keyOf(form, prop, value);
  const others = [...all()].filter(([each]) => each !== key);
  rememberHere(NAME, JSON.stringify([...others.slice(1 - MOST), [key, label]]));
}
