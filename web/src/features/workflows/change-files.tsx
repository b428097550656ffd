/** Changes of the draft as files of the project that manages the workflow. */

import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { textOf } from "~/api/json";
import type { Workflow } from "~/api/schema";
import { line } from "~/shell/command-line";
import { buttonClass } from "~/ui/button";
import { DiffView } from "~/ui/code/diff-view";
import { Copy } from "~/ui/copy";
import { Dialog } from "~/ui/dialog";
import { changedFiles, type FileChange, filesOf, folderOf } from "./files";
import { deploymentQuery } from "./queries";
import { useBuilder } from "./use-builder";

/** `whole`: all files of the saved draft, as for a workflow that no project has. */
export function ChangeFiles({ whole = false, onClose }: { whole?: boolean; onClose: () => void }) {
  const { state } = useBuilder();
  const { base } = state;
  const { data: live } = useQuery({
    ...deploymentQuery(base.id, base.deployment_id ?? ""),
    enabled: !whole && base.deployment_id !== null,
  });
  const { data: changes } = useQuery({
    queryKey: ["workflow", base.id, "files", base.revision, whole || live?.id],
    queryFn: () => changesOf(base, whole ? undefined : live),
    enabled: whole || base.deployment_id === null || live !== undefined,
  });
  const folder = folderOf(base.made_from);
  return (
    <Dialog
      open
      onClose={onClose}
      title={whole ? "The workflow as files" : "Changes as files"}
      about={base.name}
      size="wide"
    >
      <div className="dialog-body">
        {changes === undefined ? (
          <p className="dim">Loading the live version…</p>
        ) : changes.length === 0 ? (
          <p>The saved draft matches the live version. No file changes.</p>
        ) : (
          <>
            {whole ? (
              <p className="mid">
                What <code className="mono">{line`millrace workflows pull ${base.name_slug}`}</code>{" "}
                writes for the saved draft, without secrets.
              </p>
            ) : (
              <p className="mid">
                {changes.length === 1 ? "This file differs" : "These files differ"} from the live
                version. Copy {changes.length === 1 ? "it" : "them"} into the project, and the next{" "}
                <code className="mono">millrace apply</code> deploys the same. They contain no
                secrets.
              </p>
            )}
            {changes.map((change) => (
              <File key={change.path} change={change} folder={folder} />
            ))}
          </>
        )}
      </div>
    </Dialog>
  );
}

function File({ change, folder }: { change: FileChange; folder: string }) {
  const { path, before, after } = change;
  const href = `data:text/plain;charset=utf-8,${encodeURIComponent(after)}`;
  return (
    <section className="deploy-code" aria-label={folder + path}>
      <div className="change-file">
        <h3 className="mono cut">{folder + path}</h3>
        {after === "" ? (
          <span className="failed-text">removed</span>
        ) : (
          <span className="row">
            <Copy text={after} label={`Copy ${path}`} />
            <a
              href={href}
              download={path.split("/").at(-1)}
              className={buttonClass({ size: "sm", look: "quiet" })}
            >
              <Download className="icon is-sm" aria-hidden="true" />
              Download
            </a>
          </span>
        )}
      </div>
      <DiffView before={before} after={after} label={`Changes in ${path}`} />
    </section>
  );
}

async function changesOf(
  base: Workflow,
  live: { triggers?: unknown[]; steps: unknown[]; settings?: object } | undefined,
): Promise<FileChange[]> {
  const { name, active } = base;
  const after = await filesOf({
    name: textOf(name) ?? "",
    active,
    triggers: base.triggers,
    steps: base.steps,
    settings: base.settings,
  });
  if (live === undefined) return changedFiles({}, after);
  const before = await filesOf({
    name,
    active,
    triggers: live.triggers ?? [],
    steps: live.steps,
    settings: { ...live.settings },
  });
  return changedFiles(before, after);
}
