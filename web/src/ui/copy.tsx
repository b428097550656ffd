/** Copying of texts, and a button that does it. */

import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { Button, IconButton } from "./button";

/** Copies a text; true when that worked. On plain http off this machine there is no clipboard API, a selection does it. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

/** A button that copies and says so. `text` may be made when it is pressed. */
export function Copy({
  text,
  label = "Copy",
  named = false,
  keys,
}: {
  text: string | (() => string);
  label?: string;
  /** Shows the label beside the icon. */
  named?: boolean;
  keys?: string;
}) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2_000);
    return () => clearTimeout(timer);
  }, [done]);
  const act = async () => setDone(await copyText(typeof text === "string" ? text : text()));
  const icon = done ? Check : CopyIcon;
  const word = done ? "Copied" : label;
  return (
    <>
      {named ? (
        <Button size="sm" icon={icon} keys={keys} onClick={act}>
          {word}
        </Button>
      ) : (
        <IconButton size="sm" icon={icon} label={word} onClick={act} {...(keys ? { keys } : {})} />
      )}
      <span className="sr" role="status">
        {done ? "Copied" : ""}
      </span>
    </>
  );
}
