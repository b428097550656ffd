/** Picking of a value in an inspector for a field: which field takes the path, and how. */

export type PickTarget = {
  /** Name of the field, for people. */
  label: string;
  /** Puts the path into the field, and the focus with it. */
  put: (path: string) => void;
};

export type Picker = {
  /** The field has the focus: what is picked from now on goes there. */
  aim: (target: PickTarget) => void;
  /** Leads to the values that can be picked for the field. */
  open: (target: PickTarget) => void;
};
