/** Summary before a deploy of a source: its code, packages, reach and triggers. */

import { Globe, KeyRound, Lock } from "lucide-react";
import { useState } from "react";
import type { PropDef } from "~/api/props";
import { Editor } from "~/ui/code/editor";
import { Dialog } from "~/ui/dialog";
import { count } from "~/ui/format";
import { PaneHead } from "~/ui/pane";
import { Tag } from "~/ui/tag";
import { dedupeOf, hooksOf, linesOf, packagesOf } from "./code";

export type Runnable = {
  key: string | null;
  version: string | null;
  code: string;
  /** Where the code is from, in words. */
  from: string;
  files: number;
};

/** Before a deploy: which code, which packages, what it may reach, and what happens. */
export function WhatRuns({ of, props }: { of: Runnable; props: readonly PropDef[] }) {
  const [reading, setReading] = useState(false);
  const packages = packagesOf(of.code);
  const dedupe = dedupeOf(of.code);
  const apps = props.filter(({ type }) => type === "app" || type === "app[]");
  const hooks = hooksOf(of.code);
  const timer = props.some(({ type }) => type === "$.interface.timer");
  const http = props.some(({ type }) => type === "$.interface.http");
  const will = [
    ...(http ? ["It gets its own URL"] : []),
    ...hooks
      .filter((hook) => hook !== "deactivate")
      .map((hook) => (
        <span key={hook}>
          <code className="mono">{hook}()</code> runs
        </span>
      )),
    ...(timer ? ["The timer starts"] : []),
    ...(!timer && !http ? ["It runs on demand, or when its app sends an event"] : []),
  ];
  return (
    <>
      <PaneHead title="What will run">
        <button type="button" className="link small" onClick={() => setReading(true)}>
          View the code
        </button>
      </PaneHead>
      <dl className="what">
        {of.key !== null && (
          <div>
            <dt>Component</dt>
            <dd className="mono">{of.key}</dd>
          </div>
        )}
        {of.version !== null && (
          <div>
            <dt>Version</dt>
            <dd>
              <Tag>{of.version}</Tag>
            </dd>
          </div>
        )}
        <div>
          <dt>From</dt>
          <dd>{of.from}</dd>
        </div>
        <div>
          <dt>Code</dt>
          <dd>
            {count(linesOf(of.code))} lines
            {of.files > 1 && ` in the entry file, ${of.files} files`}
          </dd>
        </div>
        <div>
          <dt>Packages</dt>
          <dd>
            {packages.length === 0 ? (
              "none"
            ) : (
              <ul>
                {packages.map(({ name, version }) => (
                  <li key={name} className="mono">
                    {name} <span className="dim">{version ?? "newest"}</span>
                  </li>
                ))}
              </ul>
            )}
          </dd>
        </div>
        {dedupe !== undefined && (
          <div>
            <dt>Emits</dt>
            <dd>
              deduplicates events: <code className="mono">{dedupe}</code>
            </dd>
          </div>
        )}
      </dl>
      <PaneHead title="What it can reach" />
      <ul className="reach">
        <li>
          <Globe className="icon is-sm" aria-hidden="true" />
          Any public address
        </li>
        {apps.map(({ name, app }) => (
          <li key={name}>
            <KeyRound className="icon is-sm" aria-hidden="true" />
            <span>
              The account that you choose for <span className="mono">{app ?? name}</span>, and no
              other
            </span>
          </li>
        ))}
        <li>
          <Lock className="icon is-sm" aria-hidden="true" />
          No private addresses except those that the operator allowed, no files of the server, no
          environment variables
        </li>
      </ul>
      <PaneHead title="What happens on deploy" />
      <ol className="will">
        {will.map((each, index) => (
          <li key={index}>{each}</li>
        ))}
      </ol>
      <Dialog
        open={reading}
        onClose={() => setReading(false)}
        title="Code"
        about={of.key ?? of.from}
        size="wide"
      >
        <Editor
          language="javascript"
          label="Code of the component"
          value={of.code}
          readOnly
          maxHeight="70dvh"
        />
      </Dialog>
    </>
  );
}
