/** The builder of one workflow, provided to all of its pages: what is typed outlives a change of the tab. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { createContext, use, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import { isObject } from "~/api/json";
import type { Workflow } from "~/api/schema";
import { forget, keep, keptOf } from "~/shell/kept";
import { minute } from "~/ui/format";
import { keptDraft, withoutSecrets } from "./kept-draft";
import { contentOf, type Draft, requestOf, savedStepsOf } from "./model";
import { workflowQuery } from "./queries";
import { begin, type Refusal, reduced, toSend } from "./state";
import { useTest } from "./use-test";

const KEEP_WAIT_MS = 400;

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

/** What this browser kept, and whether the server's draft is still the one that it was typed over. */
function keptFor(workflow: Workflow) {
  const kept = keptOf(keepName(workflow.id));
  if (kept === undefined || !isObject(kept.value)) return undefined;
  const draft = keptDraft(kept.value.draft);
  if (draft === undefined) return undefined;
  return { draft, at: kept.at, fits: kept.value.over === contentOf(workflow) };
}

const keepName = (id: string) => `workflow.${id}`;

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
  const { now } = state.history;
  const dirty = now !== state.saved;
  const over = useMemo(() => contentOf(state.base), [state.base]);

  useEffect(() => {
    if (older !== undefined) return;
    if (!dirty) {
      forget(keepName(workflow.id));
      return;
    }
    const keepNow = () =>
      setKeptAt(keep(keepName(workflow.id), { over, draft: withoutSecrets(now) }));
    const timer = setTimeout(keepNow, KEEP_WAIT_MS);
    // A page that ends in between loses nothing.
    window.addEventListener("pagehide", keepNow);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("pagehide", keepNow);
    };
  }, [dirty, now, over, workflow.id, older]);

  // Leaving the workflow's pages keeps what was typed at once.
  const unsaved = useRef<(() => void) | undefined>(undefined);
  unsaved.current =
    dirty && older === undefined
      ? () => keep(keepName(workflow.id), { over, draft: withoutSecrets(now) })
      : undefined;
  useEffect(() => () => unsaved.current?.(), []);

  const took = (record: Workflow) => {
    queries.setQueryData(workflowQuery(workflow.id).queryKey, record);
    void queries.invalidateQueries({ queryKey: ["workflows"] });
    void queries.invalidateQueries({ queryKey: ["owners"] });
  };
  const path = { id: workflow.id };

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
      if (contentOf(fresh) === over) return await ask({ "If-Match": `"${fresh.revision}"` });
      throw new ChangedElsewhere(fresh);
    }
  };

  const save = useMutation({
    /** `over`: the revision that is written over; absent: the one that was read here. */
    mutationFn: async ({ over = state.base.revision }: { over?: number }) => {
      const sent = now;
      const body = requestOf(toSend(state), savedStepsOf(state.base.steps));
      try {
        const record = await change(
          (header) => data(client.PUT("/v1/workflows/{id}", { params: { path, header }, body })),
          over,
        );
        return { record, sent };
      } catch (error) {
        if (error instanceof Error && !(error instanceof ChangedElsewhere)) {
          act({ type: "refused", error, sent });
        }
        throw error;
      }
    },
    onSuccess: ({ record, sent }) => {
      act({ type: "saved", record, sent });
      setSavedAt(Date.now());
      took(record);
    },
  });

  const deploy = useMutation({
    mutationFn: async ({ message }: { message: string }) => {
      const saved = dirty ? (await save.mutateAsync({})).record : state.base;
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
      );
      return {
        deployment,
        record: await data(client.GET("/v1/workflows/{id}", { params: { path } })),
      };
    },
    onSuccess: ({ record }) => {
      act({ type: "rebase", record });
      took(record);
      void queries.invalidateQueries({ queryKey: ["workflow", workflow.id, "deployments"] });
    },
  });

  const test = useTest(state, (error, sent) => act({ type: "refused", error, sent }));

  return {
    id: workflow.id,
    state,
    draft: now,
    dirty,
    keptAt: dirty ? keptAt : undefined,
    savedAt,
    older,
    /** Takes what was kept over an older draft, or lets it go. */
    settleOlder(take: boolean) {
      if (take && older !== undefined) {
        act({ type: "edit", draft: older.draft, says: "what was typed before" });
      }
      setOlder(undefined);
    },
    edit(draft: Draft, says: string, at?: string) {
      act({ type: "edit", draft, says, at });
    },
    undo: () => act({ type: "undo" }),
    redo: () => act({ type: "redo" }),
    /** Takes the record of the server in place of what is here. */
    read(record: Workflow) {
      act({ type: "read", record });
      save.reset();
      deploy.reset();
      took(record);
    },
    /** Takes the draft of the server, which can be undone. */
    takeTheirs(record: Workflow) {
      act({ type: "theirs", record });
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
