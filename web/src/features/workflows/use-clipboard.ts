/**
 * Clipboard of steps: copies the focused or open step, and pastes steps, where no field takes the
 * keys.
 */

import { useEffect, useRef } from "react";
import { takesText } from "~/ui/keyboard";
import { say } from "~/ui/toast";
import type { StepDraft } from "./model";
import { type Pasted, pastedSteps, stepYaml } from "./paste";

export function useClipboard(
  chosen: () => StepDraft | undefined,
  onPaste: ((pasted: Exclude<Pasted, { problem: string }>) => void) | undefined,
  /** Called with an address of code, which is read by a button only. */
  onAddress: ((text: string) => void) | undefined,
): void {
  const latest = useRef({ chosen, onPaste, onAddress });
  latest.current = { chosen, onPaste, onAddress };
  useEffect(() => {
    // The path is that of the dispatch: an editor may have replaced the element under the cursor since.
    const isElsewhere = (event: ClipboardEvent) =>
      event.defaultPrevented ||
      event
        .composedPath()
        .some((at) => takesText(at) || (at instanceof Element && at.matches("[role=dialog]")));
    const copy = (event: ClipboardEvent) => {
      const step = latest.current.chosen();
      const selects = (document.getSelection()?.toString() ?? "") !== "";
      if (isElsewhere(event) || selects || step === undefined) return;
      event.clipboardData?.setData("text/plain", stepYaml(step));
      event.preventDefault();
      say({ title: `${step.namespace} copied as YAML` });
    };
    const paste = async (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (isElsewhere(event) || text.trim() === "") return;
      const address = /^https?:\/\/\S+$/.exec(text.trim())?.[0];
      if (address !== undefined) return latest.current.onAddress?.(address);
      const { onPaste } = latest.current;
      if (onPaste === undefined) return;
      const pasted = await pastedSteps(text);
      if ("problem" in pasted) say({ title: "Nothing was pasted", about: pasted.problem });
      else {
        onPaste(pasted);
        if (pasted.notes.length > 0)
          say({ title: "Some of it was not pasted", about: pasted.notes.join(" ") });
      }
    };
    const onPasted = (event: ClipboardEvent) => void paste(event);
    document.addEventListener("copy", copy);
    document.addEventListener("paste", onPasted);
    return () => {
      document.removeEventListener("copy", copy);
      document.removeEventListener("paste", onPasted);
    };
  }, []);
}
