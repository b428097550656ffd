/** A secret that is shown once: it is copied, and confirmed to be stored. */

import { useState } from "react";
import { Button } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { Checkbox } from "~/ui/field";
import "./as-command.css";

export function ShownOnce({
  title,
  label,
  secret,
  says,
  onStored,
}: {
  title: string;
  label: string;
  secret: string;
  says: string;
  onStored: () => void;
}) {
  const [stored, setStored] = useState(false);
  return (
    <Dialog
      open
      // Escape must not lose what cannot be shown again.
      onClose={() => {
        if (stored) onStored();
      }}
      title={title}
      foot={
        <Button
          look="primary"
          refused={stored ? undefined : "Confirm first that you stored it."}
          onClick={onStored}
        >
          Done
        </Button>
      }
    >
      <div className="dialog-body">
        <p className="name">{label}</p>
        <div className="shell-block">
          <pre className="code">{secret}</pre>
          <Copy named text={secret} />
        </div>
        <p className="mid">{says}</p>
        <span className="toggle-row">
          <Checkbox checked={stored} onChange={setStored} aria-label="I stored it" />
          <span aria-hidden="true">I stored it</span>
        </span>
      </div>
    </Dialog>
  );
}
