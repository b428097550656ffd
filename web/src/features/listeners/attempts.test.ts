import { expect, test } from "vitest";
import { attemptsOf, notKept } from "./attempts";

const attempt = (at_ms: number, status: number | null, error: string | null = null) => ({
  at_ms,
  duration_ms: 40,
  status,
  error,
  answer: status === null ? null : "ok",
});

test("an attempt waits from the end of the one before it, the first from when the delivery was made", () => {
  const log = [
    attempt(100_900, 503, "the receiver answered 503"),
    attempt(105_940, null, "connection refused"),
    attempt(121_000, 307, "the receiver answered 307, a redirect, which is not followed"),
    attempt(166_000, 204),
  ];
  const shown = attemptsOf({ attempts: 4, attempt_log: log, created_at: 100 });
  expect(shown.map(({ waitedMs }) => waitedMs)).toEqual([undefined, 5_000, 15_020, 44_960]);
  expect(shown.map(({ outcome }) => outcome)).toEqual([
    "Answered 503",
    "No answer",
    "Answered 307",
    "Answered 204",
  ]);
  expect(shown.map(({ reason }) => reason)).toEqual([
    undefined,
    "connection refused",
    "the receiver answered 307, a redirect, which is not followed",
    undefined,
  ]);
  expect(shown.map(({ accepted }) => accepted)).toEqual([false, false, false, true]);
  expect(shown[1]?.answer).toBeUndefined();
});

test("a delivery that waited before its first attempt says how long", () => {
  const waited = (at_ms: number) =>
    attemptsOf({ attempts: 1, attempt_log: [attempt(at_ms, 200)], created_at: 100 })[0]?.waitedMs;
  expect(waited(190_000)).toBe(89_000);
  // Made at 100.9, as far as the record says.
  expect(waited(101_600)).toBeUndefined();
  expect(waited(102_100)).toBe(1_000);
});

test("where earlier attempts are not kept, the wait before the first that is kept is not known", () => {
  const log = [attempt(190_000, 200)];
  expect(attemptsOf({ attempts: 3, attempt_log: log, created_at: 100 })[0]?.waitedMs).toBe(
    undefined,
  );
  expect(notKept({ attempts: 3, attempt_log: log })).toBe(2);
  // A replay counts anew, and the log has the attempts before it.
  const full = Array.from({ length: 20 }, (_, index) => attempt(200_000 + index * 1_000, 500));
  expect(attemptsOf({ attempts: 2, attempt_log: full, created_at: 100 })[0]?.waitedMs).toBe(
    undefined,
  );
  expect(notKept({ attempts: 2, attempt_log: full })).toBe(0);
});
