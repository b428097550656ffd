/** Commands to paste into a terminal, with the button that copies them. */

import { Copy } from "~/ui/copy";
import type { CommandLine } from "./command-line";
import "./as-command.css";

export function ShellBlock({
  text,
  label = "Copy the command",
}: {
  text: CommandLine;
  label?: string;
}) {
  return (
    <div className="shell-block">
      <pre className="code">{text}</pre>
      <Copy text={text} label={label} />
    </div>
  );
}
