import { expect, test } from "vitest";
import type { Workflow } from "~/api/schema";
import { begin, reduced, savedOf, toSend } from "./state";

const record = (steps: Record<string, string>): Workflow => ({
  id: "p_1",
  org_id: "o_1",
  project_id: "proj_1",
  name: "w",
  name_slug: "w",
  active: false,
  deployment_id: null,
  note: null,
  tags: [],
  triggers: [],
  steps: Object.entries(steps).map(([namespace, code]) => ({
    id: `c_${namespace}`,
    namespace,
    disabled: false,
    savedComponent: {
      id: `sc_${code}`,
      code,
      codeHash: "",
      configurableProps: [],
      key: null,
      version: null,
      apps: [],
      published: false,
      files: null,
    },
    configured_props_json: "{}",
    sealed_props: [],
  })),
  settings: { timeout_ms: null, memory_mb: null, error_notification: true, keep_data: true },
  made_from: null,
  revision: 1,
  draft: { changed: true, changed_at: 0, changed_by: null },
  created_at: 0,
  updated_at: 0,
});

test("what fields hold that is no valid value outlives a save, as far as its prop does", () => {
  const base = record({ a: "1" });
  const first = begin(base, undefined);
  const field = { label: "Body", why: "It ends too early.", draft: { kind: "text", text: "{" } };
  const steps = first.saved.steps.map((step) => ({ ...step, invalid: { body: field } }));
  const typed = { ...first.saved, steps };
  const edited = reduced(first, { type: "edit", draft: typed, says: "configure a" });
  const withProps = (configurableProps: unknown[]): Workflow => ({
    ...base,
    steps: base.steps.map((step) => ({
      ...step,
      savedComponent: { ...step.savedComponent, configurableProps },
    })) as Workflow["steps"],
  });
  const saved = (record: Workflow) => reduced(edited, { type: "saved", record, sent: typed });
  const still = saved(withProps([{ name: "body", type: "object" }]));
  expect(still.history.now.steps[0]?.invalid).toEqual({ body: field });
  expect(still.history.now).not.toBe(still.saved);
  const gone = saved(withProps([]));
  expect(gone.history.now).toBe(gone.saved);
});

test("a draft is saved until it is edited, and again once the server has it", () => {
  const first = begin(record({ a: "1" }), undefined);
  expect(first.history.now).toBe(first.saved);
  const [step] = first.saved.steps;
  if (step === undefined) throw new Error("no step");
  const renamed = { ...first.saved, steps: [{ ...step, namespace: "b" }] };
  const edited = reduced(first, { type: "edit", draft: renamed, says: "rename a" });
  expect(edited.history.now).not.toBe(edited.saved);
  expect(toSend(edited).steps[0]?.savedAs).toBe("a");
  const saved = reduced(edited, { type: "saved", record: record({ b: "1" }), sent: renamed });
  expect(saved.history.now).toBe(saved.saved);
  // Undone after it was saved, the step is that of the server under its new name.
  const undone = reduced(saved, { type: "undo" });
  expect(undone.history.now.steps[0]?.namespace).toBe("a");
  expect(toSend(undone).steps[0]?.savedAs).toBe("b");
});

test("what is typed while a save is under way stays unsaved", () => {
  const first = begin(record({ a: "1" }), undefined);
  const sent = { ...first.saved, steps: [] };
  const more = { ...first.saved, triggers: [] };
  let state = reduced(first, { type: "edit", draft: sent, says: "remove a" });
  state = reduced(state, { type: "edit", draft: more, says: "more" });
  state = reduced(state, { type: "saved", record: record({}), sent });
  expect(state.history.now).toBe(more);
  expect(state.history.now).not.toBe(state.saved);
});

test("the draft of others is taken, and an undo brings back what was typed", () => {
  const first = begin(record({ a: "1" }), undefined);
  const mine = { ...first.saved, steps: [] };
  const typed = reduced(first, { type: "edit", draft: mine, says: "remove a" });
  const theirs = reduced(typed, { type: "theirs", record: record({ a: "2" }) });
  expect(theirs.history.now).toBe(theirs.saved);
  const undone = reduced(theirs, { type: "undo" });
  expect(undone.history.now).toBe(mine);
  expect(undone.history.now).not.toBe(undone.saved);
  expect(undone.base).toBe(theirs.base);
});

test("a new record beneath leaves what is saved saved, and what is typed typed", () => {
  const first = begin(record({ a: "1" }), undefined);
  const deployed = reduced(first, { type: "rebase", record: record({ a: "1" }) });
  expect(deployed.history.now).toBe(deployed.saved);
  const [step] = deployed.saved.steps;
  expect(step === undefined ? undefined : savedOf(deployed, step)?.code).toBe("1");
  const typed = reduced(first, { type: "edit", draft: { ...first.saved }, says: "x" });
  const beneath = reduced(typed, { type: "rebase", record: record({ a: "2" }) });
  expect(beneath.history.now).toBe(typed.history.now);
});

test("an unchanged draft follows what was saved elsewhere, with the identities that its steps had", () => {
  const first = begin(record({ a: "1" }), undefined);
  const theirs = { ...record({ a: "2" }), revision: 2 };
  const step = theirs.steps[0];
  if (step === undefined) throw new Error("no step");
  const followed = reduced(first, {
    type: "follow",
    record: { ...theirs, steps: [{ ...step, id: "c_other" }] },
  });
  expect(followed.history.now).toBe(followed.saved);
  expect(followed.saved.steps[0]?.runs).toEqual({ kind: "code", code: "2" });
  expect(followed.saved.steps[0]?.key).toBe("c_a");
  expect(followed.base.revision).toBe(2);
  // Fields and editors show it.
  expect(followed.revision).not.toBe(first.revision);
  // Nobody edited anything here.
  expect(followed.history.past).toEqual([]);
});

test("saves elsewhere are one named step of an undo that does not take them back with an earlier edit", () => {
  const first = begin(record({ a: "1" }), undefined);
  const sent = { ...first.saved, steps: [] };
  let state = reduced(first, { type: "edit", draft: sent, says: "remove a" });
  state = reduced(state, { type: "saved", record: record({}), sent });
  const { now } = state.history;
  state = reduced(state, { type: "follow", record: record({ b: "1" }) });
  state = reduced(state, { type: "follow", record: record({ b: "2" }) });
  expect(state.history.past.map(({ says }) => says)).toEqual([
    "remove a",
    "use the draft saved elsewhere",
  ]);
  expect(reduced(state, { type: "undo" }).history.now).toBe(now);
});
