/** The act of a page as a command: `curl`, the command line, with the real ids and never a secret. */

import { SquareTerminal } from "lucide-react";
import { useState } from "react";
import { Button } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import "./as-command.css";

export type Command = { name: string; text: string };

export function AsCommand({ commands, about }: { commands: () => Command[]; about?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" icon={SquareTerminal} onClick={() => setOpen(true)}>
        <span className="sr-narrow">As command</span>
      </Button>
      {open && (
        <Dialog
          open
          onClose={() => setOpen(false)}
          title="As command"
          size="middle"
          {...(about === undefined ? {} : { about })}
        >
          <div className="dialog-body">
            {commands().map(({ name, text }) => (
              <section key={name}>
                <h3 className="small dim">{name}</h3>
                <div className="shell-block">
                  <pre className="code">{text}</pre>
                  <Copy text={text} label={`Copy ${name}`} />
                </div>
              </section>
            ))}
            <p className="small dim">
              The key is read from <code className="mono">MILLRACE_API_KEY</code>; make one under
              Settings, API keys.
            </p>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** A request of `/v1` as `curl` makes it. */
export function curlOf(method: string, path: string, body?: unknown): string {
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}"${window.location.origin}/v1${path}"`,
    `  -H "Authorization: Bearer $MILLRACE_API_KEY"`,
  ];
  if (body !== undefined) {
    lines.push(
      `  -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    );
  }
  return lines.join(" \\\n");
}
