/**
 * Way out of an editor by keys (WCAG 2.1.2): Tab indents until Escape is pressed, and then moves
 * the focus until something else is typed. That Escape stays in the editor: a dialog around it
 * takes the next one.
 */

import { simplifySelection } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { EditorView, type KeyBinding, keymap } from "@codemirror/view";

const MODIFIERS: readonly string[] = ["Shift", "Control", "Alt", "Meta"];

/** What closes a layer of the editor closes no layer of the page. */
export const inEditor = (binding: KeyBinding): KeyBinding =>
  binding.key === "Escape" ? { ...binding, stopPropagation: true } : binding;

/** Stands before the default keys, which have an Escape of their own. */
export function leavesByKeys(onChange: (leaves: boolean) => void): Extension {
  let leaves = false;
  const set = (editor: EditorView, next: boolean): void => {
    if (leaves === next) return;
    leaves = next;
    editor.setTabFocusMode(next);
    onChange(next);
  };
  return [
    keymap.of([
      inEditor({
        key: "Escape",
        run: (editor) => {
          const simplified = simplifySelection(editor);
          // Read-only text is left by Tab at once.
          if (leaves || editor.state.readOnly) return simplified;
          set(editor, true);
          return true;
        },
      }),
    ]),
    EditorView.domEventObservers({
      keydown: ({ key }, editor) => {
        if (key !== "Escape" && key !== "Tab" && !MODIFIERS.includes(key)) set(editor, false);
      },
      blur: (_, editor) => set(editor, false),
    }),
  ];
}
