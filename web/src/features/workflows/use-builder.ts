/** The builder of one workflow, provided to all of its pages: what is typed outlives a change of the tab. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { createContext, use, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import type { Workflow } from "~/api/schema";
import { useConnection } from "~/shell/connection";
import { forget } from "~/shell/kept";
import { useRefusal } from "~/shell/session";
import { minute } from "~/ui/format";
import { say } from "~/ui/toast";
import { keepDraft, keepName, keptFor } from "./kept-in-browser";
import { contentOf, type Draft, isSavedAs } from "./model";
import { workflowQuery } from "./queries";
import { lostOf, requestOf } from "./request";
import { begin, type Refusal, reduced, toSend } from "./state";
import { unfinished } from "./unfinished";
import { useDeployed } from "./use-deployed";
import { useOnServer } from "./use-on-server";
import { useTest } from "./use-test";

const KEEP_WAIT_MS = 400;
const SAVE_WAIT_MS = 600;
/** After a fault of the server. */
const SAVE_AGAIN_MS = 5_000;

/** The draft was changed since it was read here: by somebody else, in another tab, or by a key. */
export class ChangedElsewhere extends Error {
  override name = "ChangedElsewhere";
  constructor(readonly record: Workflow) {
    const { changed_at, changed_by } = record.draft;
    const by = changed_by?.name ?? "somebody";
    super(
      `This draft was changed elsewhere since you opened it: by ${by} at ${minute(changed_at * 1_000)}.`,
    );
  }
}

export const SIGNED_OUT = "the session ended";
const SECRETS = "a secret is saved once you leave the form";

const isSignedOut = (error: Error | undefined): boolean =>
  error instanceof ApiError && error.status === 401;
const isLost = (error: Error): boolean => error instanceof ApiError && error.isConnection;
/** A fault that may be gone at the next try, without an edit. */
const isPassing = (error: Error): boolean =>
  isLost(error) || (error instanceof ApiError && (error.status >= 500 || error.status === 429));

/** While a secret is typed nothing is saved: saved ones are not shown again, and the form would be made anew beneath the hands. */
function typesSecret(draft: Draft): boolean {
  const has =
    draft.steps.some(({ secrets = [] }) => secrets.length > 0) ||
    draft.triggers.some((each) => each.kind === "http" && (each.auth.token ?? each.auth.secret));
  return has && document.activeElement?.closest(".bld-props") != null;
}

export function useBuilderState(workflow: Workflow) {
  const queries = useQueryClient();
  const [start] = useState(() => keptFor(workflow));
  const [state, act] = useReducer(reduced, undefined, () =>
    begin(workflow, start?.fits ? start.draft : undefined),
  );
  /** Typed over a draft that is no more; waits for a decision. */
  const [older, setOlder] = useState(start?.fits === false ? start : undefined);
  const [keptAt, setKeptAt] = useState(start?.at);
  const [savedAt, setSavedAt] = useState<number | undefined>(undefined);
  /** Why the draft of this moment is not saved by itself. */
  const [held, setHeld] = useState<{ draft: Draft; why: string } | undefined>(undefined);
  const [failed, setFailed] = useState<{ draft: Draft; error: Error } | undefined>(undefined);
  const [turn, setTurn] = useState(0);
  const connection = useConnection();
  const refused = useRefusal("deploy");
  const { now } = state.history;
  const dirty = now !== state.saved;
  const over = useMemo(() => contentOf(state.base), [state.base]);

  useEffect(() => {
    if (older !== undefined) return;
    if (!dirty) {
      forget(keepName(workflow.id));
      return;
    }
    const keepNow = (left: boolean) =>
      setKeptAt(keepDraft(workflow.id, { over, draft: now, saved: state.saved, left }));
    const timer = setTimeout(() => keepNow(false), KEEP_WAIT_MS);
    // A page that ends in between loses nothing.
    const leave = () => keepNow(true);
    window.addEventListener("pagehide", leave);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("pagehide", leave);
    };
  }, [dirty, now, state.saved, over, workflow.id, older]);

  // Leaving the workflow's pages keeps what was typed at once.
  const unsaved = useRef<(() => void) | undefined>(undefined);
  unsaved.current =
    dirty && older === undefined
      ? () => keepDraft(workflow.id, { over, draft: now, saved: state.saved, left: true })
      : undefined;
  useEffect(() => () => unsaved.current?.(), []);
  const latest = useRef({ state, dirty, over });
  latest.current = { state, dirty, over };

  /** The deployment that this page read or made; another one is live since somebody else deployed. */
  const [knownDeployment, setKnownDeployment] = useState(workflow.deployment_id);
  const took = (record: Workflow) => {
    setKnownDeployment(record.deployment_id);
    queries.setQueryData(workflowQuery(workflow.id).queryKey, record);
    void queries.invalidateQueries({ queryKey: ["workflows"] });
    void queries.invalidateQueries({ queryKey: ["owners"] });
  };
  const path = { id: workflow.id };

  /** What was saved elsewhere: an unchanged draft follows it, a changed one waits. */
  const meet = (record: Workflow) => {
    const { state, dirty, over } = latest.current;
    // Saved here by a request whose answer was lost.
    const sent = [state.history.now, failed?.draft].find(
      (draft) => dirty && draft !== undefined && isSavedAs(draft, record),
    );
    if (contentOf(record) === over) act({ type: "rebase", record });
    else if (sent !== undefined) {
      act({ type: "saved", record, sent });
      setSavedAt(Date.now());
    } else if (!dirty) act({ type: "follow", record });
    else return setFailed({ draft: state.history.now, error: new ChangedElsewhere(record) });
    setFailed(undefined);
    void queries.invalidateQueries({ queryKey: ["workflow", workflow.id, "deployments"] });
    void queries.invalidateQueries({ queryKey: ["workflow", workflow.id, "marks"] });
  };

  /** Asks for a change of the draft as it is known here. */
  const change = async <T>(
    ask: (header: { "If-Match": string }) => Promise<T>,
    revision: number,
  ) => {
    try {
      return await ask({ "If-Match": `"${revision}"` });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412)) throw error;
      const fresh = await data(client.GET("/v1/workflows/{id}", { params: { path } }));
      // Settings are changed elsewhere than what is typed here, and both fit.
      if (contentOf(fresh) === latest.current.over) {
        return await ask({ "If-Match": `"${fresh.revision}"` });
      }
      throw new ChangedElsewhere(fresh);
    }
  };

  const deployed = useDeployed(workflow.id);
  const save = useMutation({
    /** `over`: the record that is written over; absent: the one that was read here. */
    mutationFn: async ({ over }: { over?: Workflow }) => {
      const { state } = latest.current;
      const sent = state.history.now;
      const base = over ?? state.base;
      const body = requestOf(toSend(state), base, await deployed.for(sent, base));
      try {
        const record = await change(
          (header) => data(client.PUT("/v1/workflows/{id}", { params: { path, header }, body })),
          base.revision,
        );
        return { record, sent };
      } catch (error) {
        // The answer of an earlier try was lost, and that try was not.
        if (error instanceof ChangedElsewhere && isSavedAs(sent, error.record)) {
          return { record: error.record, sent };
        }
        if (error instanceof Error) {
          setFailed({ draft: sent, error });
          if (!(error instanceof ChangedElsewhere)) act({ type: "refused", error, sent });
        }
        throw error;
      }
    },
    onSuccess: ({ record, sent }) => {
      const lost = lostOf(sent, record);
      if (lost.length > 0) say({ title: "Some changes were not restored", about: lost.join(" ") });
      const saved = { type: "saved", record, sent } as const;
      act(saved);
      // Who waited for this save goes on before the page is drawn with it.
      const next = reduced(latest.current.state, saved);
      latest.current = {
        state: next,
        dirty: next.history.now !== next.saved,
        over: contentOf(record),
      };
      setSavedAt(Date.now());
      setFailed(undefined);
      took(record);
    },
  });
  const pending = useRef<Promise<unknown> | undefined>(undefined);
  /** Saves what is typed by now, after a save that is under way. */
  const saveNow = async (): Promise<Workflow> => {
    await pending.current;
    if (!latest.current.dirty) return latest.current.state.base;
    const saving = save.mutateAsync({});
    const ended = () => {
      pending.current = undefined;
    };
    pending.current = saving.then(ended, ended);
    return (await saving).record;
  };

  const isRefused = failed !== undefined && failed.draft === now && !isPassing(failed.error);
  const waits =
    !dirty ||
    older !== undefined ||
    refused !== undefined ||
    connection !== null ||
    save.isPending ||
    failed?.error instanceof ChangedElsewhere ||
    isSignedOut(failed?.error) ||
    isRefused;
  const saves = useRef(saveNow);
  saves.current = saveNow;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each edit and each turn begins the wait anew
  useEffect(() => {
    if (waits) return;
    let gone = false;
    const go = async () => {
      const why = typesSecret(now) ? SECRETS : await unfinished(now);
      if (gone) return;
      setHeld(why === undefined ? undefined : { draft: now, why });
      // The refusal, or what hinders it, is told by the page.
      if (why === undefined) saves.current().catch(() => undefined);
    };
    // What was refused and is mended since is another draft.
    const isAgain = failed?.draft === now && !isLost(failed.error);
    const wait = isAgain ? SAVE_AGAIN_MS : SAVE_WAIT_MS;
    const timer = setTimeout(() => void go(), wait);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [waits, now, turn]);
  useEffect(() => {
    const again = () => {
      setTurn((before) => before + 1);
      setFailed((before) => (isSignedOut(before?.error) ? undefined : before));
    };
    // Who signed in in another tab comes back to this one; who leaves a field has typed the secret.
    window.addEventListener("focus", again);
    const left = () => setTurn((before) => before + 1);
    document.addEventListener("focusout", left);
    return () => {
      window.removeEventListener("focus", again);
      document.removeEventListener("focusout", left);
    };
  }, []);

  const deploy = useMutation({
    mutationFn: async ({ message }: { message: string }) => {
      const saved = await saveNow();
      // What is deployed is what is shown here.
      const deployment = await change(
        (header) =>
          data(
            client.POST("/v1/workflows/{id}/deploy", {
              params: { path, header },
              body: { message },
            }),
          ),
        saved.revision,
      ).catch((error: unknown) => {
        if (error instanceof ChangedElsewhere) meet(error.record);
        throw error;
      });
      return {
        deployment,
        record: await data(client.GET("/v1/workflows/{id}", { params: { path } })),
      };
    },
    onSuccess: ({ record }) => {
      deployed.note(record);
      act({ type: "rebase", record });
      took(record);
      void queries.invalidateQueries({ queryKey: ["workflow", workflow.id, "deployments"] });
    },
  });

  const onServer = useOnServer(state.base);
  const isBusy = save.isPending || deploy.isPending;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another record, or a draft that became unchanged
  useEffect(() => {
    if (onServer !== state.base && !isBusy) meet(onServer);
  }, [onServer, dirty, isBusy]);

  function stuckOf(): string | undefined {
    if (!dirty || save.isPending || refused !== undefined) return undefined;
    if (older !== undefined) return "first restore or discard the kept changes above";
    if (failed?.error instanceof ChangedElsewhere) return "it was changed elsewhere";
    if (isSignedOut(failed?.error)) return SIGNED_OUT;
    if (connection !== null) return "no connection; it is saved once there is one";
    if (isRefused) return "the server rejected it";
    if (failed !== undefined && failed.draft === now) return "the server failed; trying again";
    return held?.draft === now ? held.why : undefined;
  }

  const test = useTest(state, (error, sent) => act({ type: "refused", error, sent }));

  return {
    id: workflow.id,
    state,
    draft: now,
    dirty,
    keptAt: dirty ? keptAt : undefined,
    savedAt,
    /** The newest record of the server: where it is not the one that the draft is over, somebody else saved it. */
    onServer,
    knownDeployment,
    /** Waits for a decision. */
    elsewhere: dirty && failed?.error instanceof ChangedElsewhere ? failed.error : undefined,
    /** Why what is typed is not on the server, and will not be within a moment. */
    stuck: stuckOf(),
    saveNow,
    older,
    setOlder,
    /** Takes what was kept over an older draft, or discards it. */
    settleOlder(take: boolean) {
      if (older === undefined) return;
      if (take) act({ type: "edit", draft: older.draft, says: "restore unsaved changes" });
      forget(older.name);
      setOlder(undefined);
    },
    edit(draft: Draft, says: string, at?: string) {
      const edit = { type: "edit", draft, says, at } as const;
      act(edit);
      // What is edited next, before the page is drawn, is edited on top of it.
      latest.current = {
        ...latest.current,
        state: reduced(latest.current.state, edit),
        dirty: true,
      };
    },
    /** The draft with every edit of by now, drawn or not. */
    newest: () => latest.current.state.history.now,
    undo: () => act({ type: "undo" }),
    redo: () => act({ type: "redo" }),
    /** Takes the record of the server in place of what is here. */
    read(record: Workflow) {
      act({ type: "read", record });
      setFailed(undefined);
      save.reset();
      deploy.reset();
      took(record);
    },
    /** Takes the draft of the server, which can be undone. */
    takeTheirs(record: Workflow) {
      act({ type: "theirs", record });
      setFailed(undefined);
      save.reset();
      deploy.reset();
      took(record);
    },
    /** Goes on with both drafts brought together, which is saved over the server's. */
    takeBoth(record: Workflow, theirs: Draft, draft: Draft) {
      act({ type: "both", record, theirs, draft });
      setFailed(undefined);
      save.reset();
      deploy.reset();
      took(record);
    },
    /** Takes what the record says beside the draft. */
    note(record: Workflow) {
      const { revision, triggers, steps } = state.base;
      const same = contentOf(record) === over;
      act({ type: "rebase", record: same ? record : { ...record, revision, triggers, steps } });
      took(record);
    },
    /** Takes the record with the draft that it went back to; what is typed stays. */
    wentBack(record: Workflow) {
      act({ type: "rebase", record });
      took(record);
    },
    /** It is gone: nothing of it is to be kept. */
    forget() {
      act({ type: "undoAll" });
      forget(keepName(workflow.id));
    },
    dismiss: () => act({ type: "dismiss" }),
    save,
    deploy,
    test,
  };
}

export type Builder = ReturnType<typeof useBuilderState>;
export type { Refusal };

export const BuilderContext = createContext<Builder | null>(null);

export function useBuilder(): Builder {
  const builder = use(BuilderContext);
  if (builder === null) throw new Error("no builder is provided above this component");
  return builder;
}
