/** Counts of runs that ended, in all and for each stretch of time; pure. */

type Counts = { succeeded: number; failed: number; cancelled: number };

const sum = ({ succeeded, failed, cancelled }: Counts) => succeeded + failed + cancelled;

export function tallyOf({ total, buckets }: { total: Counts; buckets: readonly Counts[] }): {
  all: number;
  failed: number;
  perBucket: number[];
  failedPerBucket: number[];
} {
  return {
    all: sum(total),
    failed: total.failed,
    perBucket: buckets.map(sum),
    failedPerBucket: buckets.map(({ failed }) => failed),
  };
}
