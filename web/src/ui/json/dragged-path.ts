/** The path of a value that is dragged out of the inspector, into a field that takes text. */

import type { DragEvent } from "react";
import { takesText } from "../keyboard";

const TYPE = "application/x-millrace-path";

/** Gives a row of the inspector to be dragged by its path. */
export function dragPath(event: DragEvent, path: string): void {
  event.dataTransfer.setData(TYPE, path);
  event.dataTransfer.setData("text/plain", path);
  event.dataTransfer.effectAllowed = "copy";
}

/** Handlers of what holds fields: at `onDropped` the field has the focus, and the cursor is where the path was dropped. */
export function dropsPaths(onDropped: (path: string) => void) {
  const isPath = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes(TYPE);
  return {
    onDragOver(event: DragEvent) {
      if (!isPath(event) || fieldAt(event.target) === undefined) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
    },
    // Before the field itself, which would take the plain text.
    onDropCapture(event: DragEvent) {
      const field = fieldAt(event.target);
      if (!isPath(event) || field === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      field.focus();
      putCursor(field, event.clientX, event.clientY);
      onDropped(event.dataTransfer.getData(TYPE));
    },
  };
}

function fieldAt(target: EventTarget): HTMLElement | undefined {
  if (!(target instanceof HTMLElement)) return undefined;
  const field = target.closest<HTMLElement>("input, textarea, [contenteditable=true]");
  return field !== null && takesText(field) ? field : undefined;
}

/** Where the browser can say what is at a point; else the cursor stays where it was. */
function putCursor(field: HTMLElement, x: number, y: number): void {
  const place = document.caretPositionFromPoint?.(x, y);
  if (place === null || place === undefined) return;
  const { offsetNode, offset } = place;
  if (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) {
    if (offsetNode === field) field.setSelectionRange(offset, offset);
  } else if (field.isContentEditable && field.contains(offsetNode)) {
    document.getSelection()?.collapse(offsetNode, offset);
  }
}
