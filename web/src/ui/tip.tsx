/** Tip on hover and focus. Its text is repeated elsewhere where it is needed to use the control. */

import "./tip.css";
import { Tooltip } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import { Keys } from "./keys";
import { useLayer } from "./layer";

/** A tip on hover and focus. What it says must be said elsewhere too where it is needed to use the thing. */
export function Tip({
  text,
  keys,
  children,
}: {
  text: ReactNode;
  keys?: string | undefined;
  children: ReactElement;
}) {
  const container = useLayer();
  return (
    <Tooltip.Root
      onOpenChange={(_, about) => {
        // The key that ends the tip of a dialog's button is meant for the dialog.
        if (about.reason === "escape-key") about.allowPropagation();
      }}
    >
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal container={container}>
        <Tooltip.Positioner sideOffset={6} positionMethod="fixed" className="tip-layer">
          <Tooltip.Popup className="tip">
            {text}
            {keys !== undefined && <Keys of={keys} />}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
