/** Tip on hover and focus. Its text is repeated elsewhere where it is needed to use the control. */

import "./tip.css";
import { Tooltip } from "@base-ui/react/tooltip";
import { type ReactElement, type ReactNode, type RefObject, useEffect, useState } from "react";
import { Keys } from "./keys";
import { useLayer } from "./layer";

/** For how long the pointer rests on what has a tip before it opens. */
export const TIP_DELAY_MS = 400;

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

/** A tip of an element that is pointed at already: it opens after the delay of the other tips. */
export function TipAt({
  anchor,
  text,
  onClose,
}: {
  anchor: RefObject<HTMLElement | null>;
  text: ReactNode;
  onClose: () => void;
}) {
  const container = useLayer();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setOpen(true), TIP_DELAY_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <Tooltip.Root
      open={isOpen}
      onOpenChange={(next) => {
        if (!next) onClose();
      }}
    >
      <Tooltip.Portal container={container}>
        <Tooltip.Positioner
          anchor={anchor}
          sideOffset={6}
          positionMethod="fixed"
          className="tip-layer"
        >
          <Tooltip.Popup className="tip">{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
