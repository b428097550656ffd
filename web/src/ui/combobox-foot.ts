/**
 * Keyboard ways between the field of a combobox and the buttons below its list: Arrow Down at the
 * end of the list and Tab lead to them, Arrow Up and Escape back. Escape with a closed list is left
 * to the page: it does not clear the value.
 */

import { type KeyboardEvent, type MouseEvent, type RefObject, useRef } from "react";

/** As the library marks events that it shall not handle. */
type FieldKey = KeyboardEvent<HTMLInputElement> & { preventBaseUIHandler?: () => void };

export type FootKeys = {
  field: { ref: RefObject<HTMLInputElement | null>; onKeyDown: (event: FieldKey) => void };
  foot: {
    ref: RefObject<HTMLDivElement | null>;
    onKeyDown: (event: KeyboardEvent) => void;
    onClick: (event: MouseEvent) => void;
  };
};

export function useFootKeys(): FootKeys {
  const field = useRef<HTMLInputElement>(null);
  const foot = useRef<HTMLDivElement>(null);
  const back = () => field.current?.focus();
  return {
    field: {
      ref: field,
      onKeyDown: (event) => {
        if (event.key === "Escape" && event.currentTarget.ariaExpanded !== "true") {
          event.preventBaseUIHandler?.();
          return;
        }
        const button = foot.current?.querySelector("button");
        if (button === null || button === undefined || event.shiftKey) return;
        if (event.key !== "Tab" && !(event.key === "ArrowDown" && isAtEnd(foot.current))) return;
        event.preventBaseUIHandler?.();
        event.preventDefault();
        button.focus();
      },
    },
    foot: {
      ref: foot,
      onKeyDown: (event) => {
        const buttons = [...(foot.current?.querySelectorAll("button") ?? [])];
        const isFirst = event.target === buttons[0];
        const isLast = event.target === buttons.at(-1);
        const isTab = event.key === "Tab";
        // From the field the browser goes on to what is next on the page, and the list closes.
        if (event.key === "Escape" || (isTab && !event.shiftKey && isLast)) back();
        if (event.key !== "ArrowUp" && !(isTab && event.shiftKey && isFirst)) return;
        event.preventDefault();
        back();
      },
      // The pressed button is gone as soon as the component is asked. A finger would open the keyboard.
      onClick: ({ target, nativeEvent }) => {
        const byTouch = nativeEvent instanceof PointerEvent && nativeEvent.pointerType === "touch";
        if (!byTouch && target instanceof Element && target.closest("button") !== null) back();
      },
    },
  };
}

/** Whether the last item is highlighted, or there is none. */
function isAtEnd(foot: Element | null): boolean {
  const last = foot?.parentElement?.querySelector(".combo-list")?.lastElementChild;
  return last === undefined || last === null || last.hasAttribute("data-highlighted");
}
