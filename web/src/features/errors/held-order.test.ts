import { expect, test } from "vitest";
import { inHeldOrder } from "./held-order";

test("rows stay where they were, as they are now; what came and what is gone is counted", () => {
  const rows = [
    { id: "new", n: 1 },
    { id: "b", n: 5 },
    { id: "a", n: 2 },
  ];
  expect(inHeldOrder(rows, ["a", "gone", "b"])).toEqual({
    shown: [
      { id: "a", n: 2 },
      { id: "b", n: 5 },
    ],
    fresh: 1,
  });
});
