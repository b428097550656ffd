import { expect, test } from "vitest";
import type { StepDraft } from "./model";
import { carriedPins, mergedPins, pinFrom } from "./pins";

test("a result that is pinned is an object of exports", () => {
  expect(pinFrom('{"$return_value": 7}')).toEqual({ pin: { $return_value: 7 } });
  expect(pinFrom("[1]")).toMatchObject({ problem: expect.stringContaining("an object") });
  expect(pinFrom("7")).toMatchObject({ problem: expect.stringContaining("an object") });
  expect(pinFrom("{a: 1}")).toMatchObject({ problem: expect.stringContaining("column 2") });
});

test("a pin stays with its step, and is not taken by another of the same name", () => {
  const step = (key: string, namespace: string): StepDraft => ({
    key,
    namespace,
    savedAs: undefined,
    runs: { kind: "code", code: "" },
    props: {},
    disabled: false,
  });
  const pins = { k: { $return_value: 1 } };
  const load = step("k", "load");
  // Read anew from the server.
  expect(carriedPins(pins, [load], [step("id", "load")])).toEqual({ id: { $return_value: 1 } });
  // Renamed, while another takes its name; removed, and another is made after that.
  const taken = [step("k", "fetch"), step("n", "load")];
  expect(carriedPins(pins, [load], taken)).toBe(pins);
  expect(carriedPins(pins, [load], [])).toBe(pins);
  expect(carriedPins(pins, [], [step("n", "load")])).toBe(pins);
});

test("a tab changes its own pins alone", () => {
  const [one, two, other] = [{ $return_value: 1 }, { $return_value: 2 }, { $return_value: 3 }];
  // The other tab pinned `two` since this one was opened, and changed `one`.
  const kept = { one: other, two };
  expect(mergedPins(kept, { one }, { one, three: two })).toEqual({ ...kept, three: two });
  expect(mergedPins(kept, { one }, {})).toEqual({ two });
  expect(mergedPins(kept, { one }, { renamed: one })).toEqual({ two, renamed: one });
});
