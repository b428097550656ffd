/** Texts of a dialog's fields, compared with how each began: whether closing the dialog would lose what a person typed. */

import { createContext, use, useEffect, useId, useRef } from "react";

type Report = (id: string, isTyped: boolean) => void;

const ReportContext = createContext<Report | null>(null);

export const TypedTexts = ReportContext.Provider;

/** Reports the text of an editor, whose element does not have all of it. */
export function useTypedText(text: string): void {
  const report = use(ReportContext);
  const id = useId();
  const first = useRef(text);
  const isTyped = text !== first.current;
  useEffect(() => {
    report?.(id, isTyped);
    return () => report?.(id, false);
  }, [report, id, isTyped]);
}

/** Words of a search are no work, and files are chosen. */
const NO_TEXT =
  "[type='search'], [type='file'], [type='checkbox'], [type='radio'], [role='combobox']";

type Field = HTMLInputElement | HTMLTextAreaElement;

const isField = (target: EventTarget): target is Field =>
  (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) &&
  !target.matches(NO_TEXT);

export type Texts = {
  /** For the editors within. */
  report: Report;
  /** Called with each element that gets the focus: a field is typed in from then on. */
  watch: (target: EventTarget) => void;
  isTyped: () => boolean;
};

/** One for each time that a dialog is open. */
export function textsOf(): Texts {
  const editors = new Set<string>();
  const fields = new Map<Field, string>();
  return {
    report: (id, isTyped) => {
      if (isTyped) editors.add(id);
      else editors.delete(id);
    },
    watch: (target) => {
      if (isField(target) && !fields.has(target)) fields.set(target, target.value);
    },
    isTyped: () =>
      editors.size > 0 ||
      [...fields].some(([field, first]) => field.isConnected && field.value !== first),
  };
}
