/** Head of a workflow: its state, its pages, what is saved, and the deploy. */

import "./builder.css";
import "./builder-narrow.css";
import "./notices.css";
import "./expression.css";
import "./workflow.css";
import { useMutation } from "@tanstack/react-query";
import { Link, useBlocker, useLocation, useMatchRoute } from "@tanstack/react-router";
import { FileDiff, Redo2, Rocket, StickyNote, Undo2 } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { isObject, textOf } from "~/api/json";
import type { Workflow } from "~/api/schema";
import { HeldByDev } from "~/shell/held-by-dev";
import { keep, keptOf } from "~/shell/kept";
import { useRefusal } from "~/shell/session";
import { shortcuts, useShortcuts } from "~/shell/shortcuts";
import { useTitle } from "~/shell/title";
import { Banner } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { cn } from "~/ui/cn";
import { Confirm } from "~/ui/dialog";
import { SwitchRow } from "~/ui/field";
import { minute } from "~/ui/format";
import { takesText } from "~/ui/keyboard";
import { Crumbs, PageHead } from "~/ui/pane";
import { Tag, Tile } from "~/ui/tag";
import { Tip } from "~/ui/tip";
import { say } from "~/ui/toast";
import { ChangeFiles } from "./change-files";
import { ChangedElsewhereNotice } from "./changed-elsewhere";
import { DeployDialog } from "./deploy-dialog";
import { DeployedElsewhere } from "./live-version";
import {
  type Builder,
  BuilderContext,
  SIGNED_OUT,
  useBuilder,
  useBuilderState,
} from "./use-builder";
import { useFailing } from "./use-failing";
import { VersionTags } from "./version-tags";
import { WorkflowCommands } from "./workflow-commands";

/** As many tags as the head has room for. */
const TAGS_SHOWN = 3;

export function WorkflowPage({ workflow, children }: { workflow: Workflow; children: ReactNode }) {
  const builder = useBuilderState(workflow);
  return (
    <BuilderContext value={builder}>
      <Head />
      <Notices />
      {children}
      <Leaving />
    </BuilderContext>
  );
}

function Head() {
  const builder = useBuilder();
  const { base } = builder.state;
  const [deploys, setDeploys] = useState(false);
  const refused = useRefusal("deploy");
  const isEdit = useMatchRoute()({ to: "/workflows/$id/edit" }) !== false;
  useTitle(base.name);
  const params = { id: base.id };
  const save = () => {
    if (refused !== undefined) return;
    // What hinders it is told by the page.
    if (builder.dirty) builder.saveNow().catch(() => undefined);
    else
      say({
        title:
          builder.savedAt === undefined
            ? "All changes are saved"
            : `Saved ${minute(builder.savedAt)}`,
      });
  };
  useShortcuts({
    save,
    deploy: () => {
      if (refused === undefined) setDeploys(true);
    },
  });
  return (
    <PageHead
      acts={
        <>
          <span className="only-wide">
            <WorkflowCommands />
          </span>
          {isEdit && <History />}
          <Saved />
          <VersionTags onDeploy={() => setDeploys(true)} />
          {builder.stuck !== undefined && (
            <Button
              keys={shortcuts.save.keys}
              refused={refused}
              busy={builder.save.isPending && "Saving…"}
              onClick={save}
            >
              Save
            </Button>
          )}
          <Button look="primary" icon={Rocket} refused={refused} onClick={() => setDeploys(true)}>
            Deploy…
          </Button>
          {deploys && <DeployDialog onClose={() => setDeploys(false)} />}
        </>
      }
    >
      <Crumbs>
        <Link to="/workflows">Workflows</Link>
        <span className="row">
          <Tile name={base.name} />
          <h1 className="cut">{base.name}</h1>
        </span>
      </Crumbs>
      <Active />
      {base.note !== null && (
        <Tip text={base.note}>
          <button type="button" className="wf-note only-wide" aria-label={`Note: ${base.note}`}>
            <StickyNote className="icon is-sm" aria-hidden="true" />
          </button>
        </Tip>
      )}
      {base.tags.length > 0 && (
        <span className="row only-wide wf-tags">
          {base.tags.slice(0, TAGS_SHOWN).map((tag) => (
            <Link key={tag} to="/workflows" search={{ tag }} className="tag-link">
              <Tag>{tag}</Tag>
            </Link>
          ))}
        </span>
      )}
      <nav className="tabs" aria-label="Parts of the workflow">
        <Link to="/workflows/$id/edit" params={params} className="tab">
          Edit
        </Link>
        <Link to="/workflows/$id/runs" params={params} className="tab">
          Runs
        </Link>
        <Errors />
        <Link to="/workflows/$id/logs" params={params} className="tab">
          Logs
        </Link>
        <Link to="/workflows/$id/versions" params={params} className="tab">
          Versions
        </Link>
        <Link to="/workflows/$id/settings" params={params} className="tab">
          Settings
        </Link>
      </nav>
    </PageHead>
  );
}

/** Errors that the live version still adds to, where there are any. */
function Errors() {
  const { base } = useBuilder().state;
  const count = useFailing().reduce((sum, group) => sum + group.count, 0);
  if (count === 0) return null;
  return (
    <Link to="/errors" search={{ owner: base.id }} className="tab">
      Errors <span className="n is-alarm">{count}</span>
    </Link>
  );
}

function Active() {
  const builder = useBuilder();
  const { base } = builder.state;
  const refused = useRefusal("deploy");
  const change = useMutation({
    mutationFn: (active: boolean) =>
      data(
        client.PUT("/v1/workflows/{id}", { params: { path: { id: base.id } }, body: { active } }),
      ),
    onSuccess: (record) => {
      builder.note(record);
      say({
        title: record.active ? `${record.name} is active` : `${record.name} is off`,
        act: { label: "Undo", onClick: () => change.mutate(!record.active) },
      });
    },
    onError: (error) => say({ title: "Nothing was changed", about: sentence(error) }),
  });
  if (base.deployment_id === null) return null;
  return (
    <SwitchRow
      label={base.active ? "Active" : "Off"}
      checked={change.isPending ? !base.active : base.active}
      refused={refused}
      disabled={change.isPending}
      onChange={(active) => change.mutate(active)}
    />
  );
}

/** Undo and redo, named after what they change. */
function History() {
  const { state, undo, redo } = useBuilder();
  const back = state.history.past.at(-1)?.says;
  const forth = state.history.future.at(-1)?.says;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== "z") return;
      // Fields and the editor undo what was typed in them.
      if (event.defaultPrevented || takesText(event.target)) return;
      event.preventDefault();
      if (event.shiftKey) redo();
      else undo();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [undo, redo]);
  return (
    <span className="row bld-undo">
      <IconButton
        icon={Undo2}
        size="sm"
        label={back === undefined ? "Nothing to undo" : `Undo: ${back}`}
        keys="mod+z"
        disabled={back === undefined}
        onClick={undo}
      />
      <IconButton
        icon={Redo2}
        size="sm"
        label={forth === undefined ? "Nothing to redo" : `Redo: ${forth}`}
        keys="mod+shift+z"
        disabled={forth === undefined}
        onClick={redo}
      />
    </span>
  );
}

/** One of: saved, saving, not saved and why. */
function Saved() {
  const { draft, dirty, save, savedAt, keptAt, stuck } = useBuilder();
  const hasSecrets = draft.steps.some(({ secrets = [] }) => secrets.length > 0);
  const location = useLocation();
  const kept = stuck !== undefined && keptAt !== undefined;
  return (
    <span
      className={cn("small dim bld-saved", stuck === undefined ? "sr-narrow" : "is-stuck")}
      role="status"
    >
      {save.isPending
        ? "Saving…"
        : dirty
          ? `Not saved${stuck === undefined ? " yet" : `: ${stuck}`}`
          : savedAt !== undefined && `Saved ${minute(savedAt)}`}
      {kept && (
        <span className="bld-kept">
          , kept in this browser{hasSecrets && " without secrets"} {minute(keptAt)}
        </span>
      )}
      {stuck === SIGNED_OUT && (
        <>
          {" "}
          <Link to="/login" search={{ next: location.href }} className="link">
            Sign in again
          </Link>
        </>
      )}
    </span>
  );
}

function Notices() {
  const builder = useBuilder();
  const [showsFiles, setShowsFiles] = useState(false);
  const { base } = builder.state;
  return (
    <div className="bld-notices">
      {isObject(base.made_from) && (
        <div className="bld-notice">
          <Banner
            title={`Managed by project ${textOf(base.made_from.project) ?? ""}`}
            act={
              <Button size="sm" icon={FileDiff} onClick={() => setShowsFiles(true)}>
                Changes as files…
              </Button>
            }
          >
            The next <code className="mono">millrace apply</code> overwrites changes made here,
            unless <code className="mono">{textOf(base.made_from.path) ?? "its folder"}</code> has
            the same changes.
          </Banner>
        </div>
      )}
      <DeployedElsewhere />
      {base.deployment_id !== null && (
        <HeldByDev owner={base.id} isWorkflow className="bld-notice" />
      )}
      {showsFiles && <ChangeFiles onClose={() => setShowsFiles(false)} />}
      {builder.older !== undefined && (
        <div className="bld-notice">
          <Banner
            kind="waits"
            role="alert"
            title={`This browser kept unsaved changes from ${minute(builder.older.at)}`}
            act={
              <span className="row">
                <Button size="sm" onClick={() => builder.settleOlder(true)}>
                  Restore
                </Button>
                <DiscardOlder of={builder.older} />
              </span>
            }
          >
            {builder.older.elsewhere
              ? "They were typed in another tab and are not saved. Restoring them can be undone."
              : "The draft on the server has changed since. Restoring them can be undone."}
          </Banner>
        </div>
      )}
      {builder.elsewhere !== undefined && <ChangedElsewhereNotice error={builder.elsewhere} />}
    </div>
  );
}

/** Discards what another draft was typed over; until the message goes, it can be brought back. */
function DiscardOlder({ of }: { of: NonNullable<Builder["older"]> }) {
  const { settleOlder, setOlder } = useBuilder();
  const discard = () => {
    const kept = keptOf(of.name)?.value;
    settleOlder(false);
    say({
      title: `Changes from ${minute(of.at)} were discarded`,
      act: {
        label: "Undo",
        onClick: () => {
          keep(of.name, kept);
          setOlder(of);
        },
      },
    });
  };
  return (
    <Button size="sm" look="quiet" onClick={discard}>
      Discard
    </Button>
  );
}

/** Going away saves what is not saved yet, and asks where that cannot be. */
function Leaving() {
  const { dirty, state, save, saveNow } = useBuilder();
  const here = `/workflows/${state.base.id}/`;
  const refused = useRefusal("deploy");
  const blocker = useBlocker({
    shouldBlockFn: async ({ next }) => {
      const stays = `${next.pathname}/`.startsWith(here);
      // Who signs in again comes back, and finds what was typed.
      if (!dirty || stays || next.pathname === "/login") return false;
      if (refused !== undefined) return true;
      return await saveNow().then(
        () => false,
        () => true,
      );
    },
    enableBeforeUnload: dirty,
    withResolver: true,
  });
  if (blocker.status !== "blocked") return null;
  return (
    <Confirm
      open
      onClose={blocker.reset}
      title="Leave without saving?"
      keep="Stay"
      act={refused === undefined ? "Save and leave" : "Leave"}
      look="primary"
      busy={save.isPending && "Saving…"}
      error={save.error === null ? undefined : sentence(save.error)}
      onConfirm={async () => {
        if (refused === undefined) await saveNow();
        blocker.proceed();
      }}
    >
      <p>
        The draft of {state.base.name} is not saved. This browser keeps what you typed, except
        secrets.
      </p>
      <p>
        <Button size="sm" look="quiet" onClick={blocker.proceed}>
          Leave and save later
        </Button>
      </p>
    </Confirm>
  );
}
