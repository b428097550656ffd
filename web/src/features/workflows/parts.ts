/** Components of other features that the builder shows; the route passes them in. */

import type { ReactNode } from "react";
import type { JsonObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import type { Run } from "~/api/schema";
import type { Known } from "~/ui/code/completion";
import type { Picker } from "~/ui/json/picker";
import type { InvalidFields } from "./model";

export type FormGiven = {
  /** A component's key or the id of a saved one; of a trigger the workflow's id. */
  target: string;
  props: readonly PropDef[];
  stored: JsonObject;
  /** What fields hold that is no valid value, as `onValues` gave it. */
  invalid?: InvalidFields | undefined;
  sealed: readonly string[];
  /** What the server found wrong with each prop. */
  refused: Readonly<Record<string, string>>;
  /** Why the values cannot be changed. */
  locked: string | undefined;
  /** Values may be expressions; what one gives with the data at hand. */
  renderValue?: (value: unknown) => ReactNode;
  /** What expressions may name, and what it holds now. */
  known?: () => Known;
  /** Where values of the data at hand are picked for a field. */
  picker?: Picker | undefined;
  /** `values` has the valid ones alone; `stored` keeps the others as they were. */
  onValues: (
    values: JsonObject,
    more: { form: string | undefined; secrets: string[]; invalid: InvalidFields | undefined },
  ) => void;
};

/** A step as it was tested: its code is shown beside an error. */
export type TestedStep = { name: string; code: string; entry: string; disabled: boolean };

export type NewSourceGiven = {
  onClose: () => void;
  onDeployed: (source: { id: string; name: string }) => void;
};

export type Parts = {
  renderForm: (given: FormGiven) => ReactNode;
  /** A dialog in which a source is found and deployed. */
  renderNewSource: (given: NewSourceGiven) => ReactNode;
  renderResult: (given: { run: Run; step: string; steps: readonly TestedStep[] }) => ReactNode;
};
