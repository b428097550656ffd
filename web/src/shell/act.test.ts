import { expect, test } from "vitest";
import { didAct, isChange, isDeploy, sayAct } from "./act";

test("actions of the audit log are said in words", () => {
  for (const [action, words] of [
    ["POST /sources", "Made a source"],
    ["PUT /workflows/{id}", "Changed a workflow"],
    ["DELETE /api_keys/{id}", "Deleted an API key"],
    ["PUT /file_stores/{name}/files", "Changed a file"],
    ["POST /workflows/{id}/deploy", "Deployed a workflow"],
    ["POST /workflows/{id}/something_new", "Asked for something new of a workflow"],
    ["PUT /workflows/{id}/retention", "Changed retention of a workflow"],
    ["GET /accounts/{id}", "Looked at the credentials of an account"],
    ["POST /registries", "Made a registry"],
    ["nonsense", "nonsense"],
  ] as const) {
    expect(sayAct(action)).toBe(words);
  }
});

test("a sentence about somebody names what it was done to, where that has a name", () => {
  expect(didAct("POST /workflows/{id}/deploy", true)).toBe("deployed");
  expect(didAct("POST /accounts", false)).toBe("made an account");
});

test("what happens all the time is no change of how things are set up", () => {
  for (const action of ["POST /sources", "PUT /workflows/{id}", "POST /workflows/{id}/deploy"]) {
    expect(isChange(action), action).toBe(true);
  }
  for (const action of [
    "POST /sources/{id}/run",
    "PUT /data_stores/{id}/record",
    "PUT /file_stores/{name}/files",
    "POST /runs/{id}/replay",
    "POST /links/use",
    "GET /accounts/{id}",
    "POST /session",
  ]) {
    expect(isChange(action), action).toBe(false);
  }
  expect(isDeploy("POST /workflows/{id}/deploy")).toBe(true);
  expect(isDeploy("POST /workflows")).toBe(false);
});
