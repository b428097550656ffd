import { expect, test } from "vitest";
import { stepOf } from "~/api/runs";
import { wordsOf } from "./would-send";

test("what a test would send is named by its kind and where to", () => {
  const [step] = stepOf({
    namespace: "notify",
    exports: {},
    would_send: [
      { kind: "email", target: "ops@example.com", payload: {} },
      { kind: "http", target: "POST https://example.com/a", payload: {} },
      { kind: "emit", target: "", payload: {} },
      { kind: "sse", target: "orders", payload: {} },
    ],
  });
  expect(step?.wouldSend.map(wordsOf)).toEqual([
    "E-mail to ops@example.com",
    "Request: POST https://example.com/a",
    "Event on the default channel",
    "Server-sent event on orders",
  ]);
});
