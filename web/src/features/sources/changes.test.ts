import { expect, test } from "vitest";
import { SECRET } from "~/ui/changes";
import { formChanges, sourceChanges, valuesToSave } from "./changes";

const source = {
  configured_props: {
    http: { endpoint_url: "https://mill.example/e/x" },
    db: { type: "$.service.db" },
    timer: { cron: null, interval_seconds: 900 },
    shelf: "A1",
  },
  sealed_props: ["token"],
};
const props = [
  { name: "http", secret: false },
  { name: "timer", secret: false },
  { name: "shelf", secret: false },
  { name: "token", secret: true },
];

test("what a form says in other words, and what the server made, is no change", () => {
  const values = { timer: { intervalSeconds: 900 }, shelf: "A1" };
  expect(formChanges(source, { props, values })).toEqual([]);
});

test("a form's changes are named; a secret is shown as one, whatever is typed", () => {
  const values = { timer: { cron: "0 9 * * *", timezone: "UTC" }, shelf: "B2", token: "hush" };
  const changes = formChanges(source, { props, values });
  expect(changes).toEqual([
    { name: "timer", before: "every 900 s", after: "cron 0 9 * * *, UTC" },
    { name: "shelf", before: "A1", after: "B2" },
    { name: "token", before: "a secret", after: "a new secret" },
  ]);
  expect(JSON.stringify(changes)).not.toContain("hush");
});

test("a field that is left empty goes back to its default", () => {
  const source = { configured_props: { n: 7, m: 5, tags: ["a"], own: 1 } };
  const props = ["n", "m"].map((name) => ({ name, secret: false, default: 5 }));
  props.push({ name: "own", secret: false, default: 5 });
  const form = { props, values: { own: 2, tags: ["a"] } };
  expect(formChanges(source, form)).toEqual([
    { name: "own", before: 1, after: 2 },
    { name: "n", before: 7, after: 5 },
  ]);
  // To the server what is empty is null; it gives the default.
  expect(valuesToSave(source, source, form).values).toEqual({ n: null, own: 2 });
});

test("versions differ by props, secrets that are new or gone, and limits", () => {
  const before = { ...source, calls_per_isolate: 1, concurrency: null };
  const after = {
    configured_props: { ...source.configured_props, shelf: "C3" },
    sealed_props: [],
    calls_per_isolate: 1,
    concurrency: 4,
  };
  expect(sourceChanges(before, after)).toEqual([
    { name: "shelf", before: "A1", after: "C3" },
    { name: "runs at once", before: undefined, after: 4 },
    { name: "token", before: SECRET, after: undefined },
  ]);
});

test("a form saves its own changes over what others saved meanwhile, and names what both changed", () => {
  const form = {
    props: ["mine", "theirs", "both", "same", "gone", "unset"].map((name) => ({
      name,
      secret: false,
    })),
    values: { mine: 2, theirs: 1, both: 2, same: 3, gone: 1 },
  };
  const base = { configured_props: { mine: 1, theirs: 1, both: 1, same: 1, gone: 1, unset: 1 } };
  const now = { configured_props: { mine: 1, theirs: 9, both: 9, same: 3, unset: 1 } };
  expect(valuesToSave(base, now, form)).toEqual({
    values: { mine: 2, both: 2, same: 3, unset: null },
    taken: { theirs: 9, gone: undefined },
    clashes: [{ name: "both", before: 9, after: 2 }],
  });
  expect(valuesToSave(base, base, form)).toMatchObject({ taken: {}, clashes: [] });
});
