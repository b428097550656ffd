/** The act of a page as a command: `curl`, the command line, with the real ids and never a secret. */

import { SquareTerminal } from "lucide-react";
import { useState } from "react";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import type { CommandLine } from "./command-line";
import { ShellBlock } from "./shell-block";

export type Command = { name: string; text: CommandLine };

export function AsCommand({ commands, about }: { commands: () => Command[]; about?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon={SquareTerminal} onClick={() => setOpen(true)}>
        <span className="sr-narrow">As command</span>
      </Button>
      {open && (
        <CommandsDialog commands={commands()} about={about} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

export function CommandsDialog({
  commands,
  about,
  onClose,
}: {
  commands: readonly Command[];
  about?: string | undefined;
  onClose: () => void;
}) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="As command"
      size="middle"
      {...(about === undefined ? {} : { about })}
    >
      <div className="dialog-body">
        {commands.map(({ name, text }) => (
          <section key={text}>
            <h3 className="small dim">{name}</h3>
            <ShellBlock text={text} label={`Copy ${name}`} />
          </section>
        ))}
        <p className="small dim">
          The key is read from <code className="mono">MILLRACE_API_KEY</code>; create one under
          Settings, API keys.
        </p>
      </div>
    </Dialog>
  );
}
