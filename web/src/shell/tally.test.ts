import { expect, test } from "vitest";
import { tallyOf } from "./tally";

const counts = (succeeded: number, failed: number, cancelled = 0) => ({
  succeeded,
  failed,
  cancelled,
});

test("all that ended counts, failed ones beside it", () => {
  expect(tallyOf({ total: counts(5, 2, 1), buckets: [counts(5, 0), counts(0, 2, 1)] })).toEqual({
    all: 8,
    failed: 2,
    perBucket: [5, 3],
    failedPerBucket: [0, 2],
  });
});
