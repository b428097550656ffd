/** A test that this tab began and that has not ended, as the browser keeps it through a reload. */

import { isObject } from "~/api/json";
import type { TestOf } from "./use-test";

export type UnderWay = {
  /** Id of its run. */
  run: string;
  of: TestOf;
  /** Places of the first and the last step that it runs. */
  from: number;
  to: number;
  /** Id of the event that it has. */
  used: string;
};

/** Reads what an earlier version of the page may have kept: what does not fit is none. */
export function underWayOf(kept: unknown): UnderWay | undefined {
  if (!isObject(kept)) return undefined;
  const { run, from, to, used } = kept;
  const of = testOf(kept.of);
  return typeof run === "string" &&
    typeof from === "number" &&
    typeof to === "number" &&
    typeof used === "string" &&
    of !== undefined
    ? { run, of, from, to, used }
    : undefined;
}

function testOf(given: unknown): TestOf | undefined {
  if (!isObject(given)) return undefined;
  const { kind, key } = given;
  if (kind === "all") return { kind };
  return (kind === "to" || kind === "alone") && typeof key === "string" ? { kind, key } : undefined;
}
