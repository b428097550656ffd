import { describe, expect, test } from "vitest";
import { SECRET } from "~/ui/changes";
import { codeThatDiffers, differences, valuesThatDiffer } from "./differences";
import { contentOf, draftOf, moved, refusedPlace, startsOf } from "./model";
import { renamesOf } from "./renames";
import { isBroughtBack, lostOf, requestOf } from "./request";
import { freeName, nameProblem } from "./step-names";

const step = (namespace: string, code: string, more: object = {}) => ({
  id: `c_${namespace}`,
  namespace,
  disabled: false,
  savedComponent: {
    id: `sc_${code}`,
    code,
    key: null,
    published: false,
    configurableProps: [{ name: "token", type: "string", secret: true }],
    files: { entry: `${namespace}.mjs`, others: {} },
  },
  configured_props_json: '{"n":1}',
  sealed_props: ["token"],
  ...more,
});
const action = step("mail", "x", {
  savedComponent: { id: "sc_mail", code: "x", key: "mail-send", published: true, files: null },
});
const triggers = [
  { type: "http", id: "hi_1", endpoint_url: "http://x/e/1", auth: { type: "none" } },
  { type: "timer", cron: null, interval_seconds: 60, timezone: "UTC" },
  { type: "source", id: "dc_1", event_name: "" },
];
const settings = {};

describe("a draft", () => {
  test("names what was built where nothing changed, and keeps its secrets", () => {
    const record = { triggers, steps: [step("a", "1"), action] };
    const request = requestOf(draftOf(record), record);
    expect(request.steps).toEqual([
      { namespace: "a", component_id: "sc_1", props: { n: 1 }, keep_secrets_of: "a" },
      { namespace: "mail", component_id: "sc_mail", props: { n: 1 }, keep_secrets_of: "mail" },
    ]);
    expect(request.triggers).toEqual([
      { type: "http", id: "hi_1", auth: { type: "none" } },
      { type: "timer", props: { intervalSeconds: 60 } },
      { type: "source", id: "dc_1", event_name: "" },
    ]);
  });

  test("makes a trigger anew that the saved one no longer has", () => {
    const draft = draftOf({ triggers, steps: [] });
    expect(requestOf(draft, { triggers: triggers.slice(1), steps: [] }).triggers[0]).toEqual({
      type: "http",
      auth: { type: "none" },
    });
  });

  test("sends code that changed, under a new name too", () => {
    const record = { triggers, steps: [step("a", "1")] };
    const draft = draftOf(record);
    const [first] = draft.steps;
    if (first === undefined) throw new Error("no step");
    draft.steps = [{ ...first, namespace: "b", runs: { kind: "code", code: "2" } }];
    expect(requestOf(draft, record).steps).toEqual([
      { namespace: "b", code: "2", props: { n: 1 }, keep_secrets_of: "a" },
    ]);
  });

  test("sends code anew under a new name, which its file has too", () => {
    const record = { triggers, steps: [step("a", "1")] };
    const draft = draftOf(record);
    draft.steps = draft.steps.map((each) => ({ ...each, namespace: "b" }));
    expect(requestOf(draft, record).steps).toEqual([
      { namespace: "b", code: "1", props: { n: 1 }, keep_secrets_of: "a" },
    ]);
  });

  test("sends the files that its code imports with it", () => {
    const files = { entry: "steps/a.ts", others: { "lib/x.ts": "y" } };
    const steps = [step("a", "1", { savedComponent: { id: "sc_1", code: "1", key: null, files } })];
    const draft = draftOf({ triggers, steps });
    draft.steps = draft.steps.map((each) => ({ ...each, runs: { kind: "code", code: "2" } }));
    expect(requestOf(draft, { triggers, steps }).steps[0]).toMatchObject({
      code: "2",
      code_files: { "lib/x.ts": "y" },
      code_entry: "steps/a.ts",
    });
  });

  test("brought back by an undo has its files, and its address and secrets of a deployed version", () => {
    const files = { entry: "a.mjs", others: { "lib/x.mjs": "y" } };
    const saved = { id: "sc_1", code: "1", key: null, files };
    const was = { triggers, steps: [step("a", "1", { savedComponent: saved })] };
    const draft = draftOf(was);
    const sent = { ...draft, steps: draft.steps.map((each) => ({ ...each, savedAs: undefined })) };
    const record = { triggers: [], steps: [] };
    expect([isBroughtBack(draft, was), isBroughtBack(sent, record)]).toEqual([false, true]);
    expect(requestOf(sent, record).steps[0]).toEqual({
      namespace: "a",
      code: "1",
      code_entry: "a.mjs",
      code_files: { "lib/x.mjs": "y" },
      props: { n: 1 },
    });
    const request = requestOf(sent, record, [was]);
    expect(request.steps[0]).toMatchObject({ keep_secrets_of: "a" });
    expect(request.triggers[0]).toMatchObject({ id: "hi_1" });
    const defs = [{ name: "token", type: "string", secret: true }];
    const made = {
      triggers: [{ type: "http", id: "hi_2" }],
      steps: [step("a", "1", { sealed_props: [], savedComponent: { configurableProps: defs } })],
    };
    expect(lostOf(sent, was)).toEqual([]);
    expect(lostOf(sent, made)).toEqual([
      "The HTTP trigger has a new URL.",
      "a is missing its secrets: token.",
    ]);
    // A secret that the code asks for no more is not missed.
    expect(
      lostOf(sent, { triggers, steps: [step("a", "2", { sealed_props: [], savedComponent: {} })] }),
    ).toEqual([]);
  });

  test("keeps the secrets of a step that was copied", () => {
    const record = { triggers, steps: [step("a", "1")] };
    const draft = draftOf(record);
    draft.steps = draft.steps.flatMap((each) => [
      each,
      { ...each, key: "new", namespace: "a_2", savedAs: undefined },
    ]);
    expect(requestOf(draft, record).steps[1]).toMatchObject({
      namespace: "a_2",
      keep_secrets_of: "a",
    });
  });

  test("differs from what is live by steps", () => {
    const live = { triggers, settings, steps: [step("a", "1"), step("b", "1"), action] };
    const same = { triggers, settings, steps: [step("a", "1"), step("b", "1"), action] };
    expect(differences(same, live)).toEqual([]);
    expect(contentOf(same)).toBe(contentOf(live));
    const draft = {
      triggers: triggers.slice(1),
      settings: { timeout_ms: 1 },
      steps: [
        step("a", "2", { configured_props_json: "{}" }),
        { ...action, disabled: true },
        step("c", "3"),
      ],
    };
    expect(differences(draft, live)).toEqual([
      { kind: "changed", says: "A trigger removed" },
      { step: "a", kind: "changed", says: "code changed, value of n changed" },
      { step: "mail", kind: "changed", says: "turned off" },
      { step: "c", kind: "added", says: "added" },
      { step: "b", kind: "removed", says: "removed" },
      { kind: "changed", says: "Settings changed: timeout ms" },
    ]);
    const turned = { triggers, settings, steps: [step("b", "1"), step("a", "1"), action] };
    expect(differences(turned, live)).toEqual([{ kind: "changed", says: "Step order changed" }]);
  });
});

test("a renamed step is told by what it runs, or by similar code at its place", () => {
  const code = (last: string) =>
    `export default {\n  run() {\n    load();\n    ${last}\n  },\n};\n`;
  const made = (name: string, text: string, id: string) => {
    const saved = { id, code: text, key: null, published: false, files: null };
    return step(name, "", { savedComponent: saved });
  };
  const live = [made("a", code("a();"), "sc_1"), made("b", code("b();"), "sc_2"), action];
  const draft = [made("check", code("a(1);"), "sc_3"), action, made("b_2", code("b();"), "sc_2")];
  expect([...renamesOf(live, draft)]).toEqual([
    ["b_2", "b"],
    ["check", "a"],
  ]);
  expect(
    differences({ triggers, settings, steps: draft }, { triggers, settings, steps: live }),
  ).toEqual([
    { step: "check", was: "a", kind: "changed", says: "renamed from a, code changed" },
    { step: "b_2", was: "b", kind: "changed", says: "renamed from b" },
    { kind: "changed", says: "Step order changed" },
  ]);
  expect(codeThatDiffers(live, draft)).toEqual([
    { title: "check", before: code("a();"), after: code("a(1);") },
  ]);
  // Other code at the same place is another step, and shown as a whole.
  const other = [made("mails", "send(steps.a);\nsend(steps.b);\n", "sc_4"), action];
  expect([...renamesOf(live, other)]).toEqual([]);
  expect(codeThatDiffers(live, other)).toEqual([
    { title: "mails", before: "", after: "send(steps.a);\nsend(steps.b);\n" },
  ]);
});

test("values that differ are named for triggers, each step and the settings; a secret by whether there is one", () => {
  const before = { triggers, settings: { timeout_ms: null }, steps: [step("a", "1"), action] };
  const props = {
    configured_props_json: JSON.stringify({ to: "ops", n: 2 }),
    sealed_props: ["key"],
  };
  const after = {
    triggers: triggers.slice(0, 2),
    settings: { timeout_ms: 5_000 },
    steps: [step("a", "1", props), action],
  };
  expect(valuesThatDiffer(before, before)).toEqual([]);
  const found = valuesThatDiffer(before, after);
  expect(found.map(({ title }) => title)).toEqual(["Triggers", "a", "Settings"]);
  expect(found.find(({ title }) => title === "Settings")?.changes).toEqual([
    { name: "timeout_ms", before: undefined, after: 5_000 },
  ]);
  const named = found.find(({ title }) => title === "a")?.changes ?? [];
  expect(named).toContainEqual({ name: "to", before: undefined, after: "ops" });
  expect(named).toContainEqual({ name: "key", before: undefined, after: SECRET });
});

test("triggers are said in words", () => {
  expect(startsOf(triggers, () => "Orders")).toEqual([
    "on requests",
    "every minute",
    "on events of Orders",
  ]);
  const cron = { type: "timer", cron: "0 9 * * 1-5", timezone: "Europe/Berlin" };
  expect(startsOf([cron])).toEqual([{ cron: "0 9 * * 1-5", zone: "Europe/Berlin" }]);
});

test("a name for a new step is free and allowed", () => {
  expect(freeName([], "code")).toBe("code");
  expect(freeName([{ namespace: "code" }, { namespace: "code_2" }], "code")).toBe("code_3");
  expect(freeName([], "slack-send")).toBe("slack_send");
  expect(freeName([], "3d")).toBe("step_3d");
  expect(freeName([], "trigger")).toBe("step");
});

test("a name is refused as the server would", () => {
  const steps = [
    { key: "1", namespace: "a" },
    { key: "2", namespace: "b" },
  ];
  expect(nameProblem(steps, { key: "2", namespace: "a" })).toContain("Another step");
  expect(nameProblem(steps, { key: "2", namespace: "b c" })).toContain("Allowed are");
  expect(nameProblem(steps, { key: "2", namespace: "trigger" })).toContain("not trigger");
  expect(nameProblem(steps, { key: "2", namespace: "b" })).toBeUndefined();
});

test("steps move by one place and never out of the list", () => {
  expect(moved(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
  expect(moved(["a", "b", "c"], 0, -1)).toEqual(["a", "b", "c"]);
  expect(moved(["a", "b", "c"], 2, 1)).toEqual(["a", "b", "c"]);
});

test("a refusal is at its step, with the line of the code", () => {
  const draft = draftOf({ triggers, steps: [step("a", "1"), step("b", "1")] });
  const message = "step `b`: the code does not parse:\n ╭─[ b.mjs:3:19 ]";
  expect(refusedPlace({ step: "b" }, message, draft)).toEqual({ step: "c_b", line: 3 });
  expect(refusedPlace({ field: "steps[0].namespace" }, "no", draft)).toEqual({ step: "c_a" });
  expect(refusedPlace({ field: "triggers[1].props" }, "no", draft)).toEqual({ trigger: 1 });
  expect(refusedPlace({}, "no", draft)).toEqual({});
});
