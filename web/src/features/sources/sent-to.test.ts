import { expect, test } from "vitest";
import { sentTo } from "./sent-to";

test("an event that was sent says whom it reached", () => {
  expect(sentTo({ run_ids: ["run_1"], deliveries: 2 })).toBe(
    "Sent: 1 run started, 2 deliveries to webhooks",
  );
  expect(sentTo({ run_ids: ["run_1", "run_2"], deliveries: 0 })).toBe("Sent: 2 runs started");
  expect(sentTo({ run_ids: [], deliveries: 0 })).toBe("Emitted. There are no listeners.");
});
