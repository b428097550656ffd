import { expect, test } from "vitest";
import { sayAct } from "./act";

test("actions of the audit log are said in words", () => {
  for (const [action, words] of [
    ["POST /sources", "Made a source"],
    ["PUT /workflows/{id}", "Changed a workflow"],
    ["DELETE /api_keys/{id}", "Deleted an API key"],
    ["PUT /file_stores/{name}/files", "Changed a file"],
    ["POST /workflows/{id}/deploy", "Workflow: deploy"],
    ["PUT /workflows/{id}/retention", "Changed retention of a workflow"],
    ["GET /accounts/{id}", "Looked at the credentials of an account"],
    ["POST /registries", "Made a registry"],
    ["nonsense", "nonsense"],
  ] as const) {
    expect(sayAct(action)).toBe(words);
  }
});
