import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { didAct, isChange, isDeploy, sayAct } from "./act";
import { ACTIONS } from "./audit-actions";

test("actions of the audit log are said in words", () => {
  expect(sayAct("POST /sources")).toBe("Created a source");
  expect(sayAct("POST /session")).toBe("Signed in");
  expect(sayAct("nonsense")).toBe("nonsense");
});

/** Requests that leave a record (`crates/api/src/audit.rs`). */
function recorded(): string[] {
  type Request = { parameters?: { name?: string }[] };
  const paths: Record<string, Record<string, Request>> = JSON.parse(
    readFileSync("../crates/api/openapi.json", "utf8"),
  ).paths;
  return Object.entries(paths).flatMap(([path, requests]) =>
    Object.entries(requests)
      .filter(([method, { parameters = [] }]) =>
        method === "get"
          ? parameters.some(({ name }) => name === "include_credentials")
          : !/\/(configure|props)$/.test(path),
      )
      .map(([method]) => `${method.toUpperCase()} ${path.replace("/v1", "")}`),
  );
}

test("every request that leaves a record has words, and no other", () => {
  expect(Object.keys(ACTIONS).toSorted()).toEqual(recorded().toSorted());
});

test("a sentence about somebody names what it was done to, where that has a name", () => {
  expect(didAct("POST /workflows/{id}/deploy", true)).toBe("deployed");
  expect(didAct("POST /accounts", false)).toBe("connected an account");
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
