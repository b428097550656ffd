/** Keys of a shortcut, as they are printed on the keyboard of this system. */

import { Fragment } from "react";

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** How a key is shown. */
const shown: Record<string, string> = {
  ...(isApple ? { mod: "⌘", alt: "⌥" } : { mod: "Ctrl", alt: "Alt" }),
  shift: "⇧",
  enter: "↵",
  escape: "Esc",
  tab: "Tab",
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
  delete: "Del",
  backspace: "⌫",
  f6: "F6",
};

/** Keys of a shortcut, such as `mod+k` or `g h`: pressed together within `+`, one after the other between spaces. */
export function Keys({ of }: { of: string }) {
  const strokes = of.split(" ");
  return (
    <span className="kbd" aria-hidden="true">
      {strokes.map((stroke, index) => (
        <Fragment key={index}>
          {stroke.split("+").map((key) => (
            <kbd key={key}>{shown[key] ?? (key.length === 1 ? key.toUpperCase() : key)}</kbd>
          ))}
        </Fragment>
      ))}
    </span>
  );
}

/** The shortcut in the form that `aria-keyshortcuts` has. */
export function ariaKeys(of: string): string {
  return of
    .split(" ")
    .map((stroke) =>
      stroke
        .split("+")
        .map((key) => {
          if (key === "mod") return isApple ? "Meta" : "Control";
          return key.length === 1 ? key : key[0]?.toUpperCase() + key.slice(1);
        })
        .join("+"),
    )
    .join(" ");
}
