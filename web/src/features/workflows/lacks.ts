/** Missing values and accounts of a step. Pure. */

import { isRequired, type PropDef } from "~/api/props";
import type { StepDraft } from "./model";

/** Props that a step needs and that have no value; `sealed`: those whose value is stored and not shown. */
export function lacksOf(
  { props, disabled }: Pick<StepDraft, "props" | "disabled">,
  defs: readonly PropDef[],
  sealed: readonly string[],
): { values: string[]; accounts: string[] } {
  const lacks = disabled
    ? []
    : defs.filter(({ name }) => {
        const value = props[name];
        return !sealed.includes(name) && (value === undefined || value === null || value === "");
      });
  const labels = (found: readonly PropDef[]) => found.map(({ label }) => label);
  return {
    values: labels(lacks.filter(isRequired)),
    accounts: labels(
      lacks.filter(
        ({ type, optional, hidden, disabled }) =>
          type === "app" && !(optional || hidden || disabled),
      ),
    ),
  };
}
