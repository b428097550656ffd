import { expect, test } from "vitest";
import { SECRET } from "~/ui/changes";
import { formChanges, sourceChanges } from "./changes";

const source = {
  configured_props: {
    http: { endpoint_url: "https://mill.example/e/x" },
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
