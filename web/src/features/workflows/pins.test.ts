import { expect, test } from "vitest";
import type { StepDraft } from "./model";
import { carriedPins, pinFrom } from "./pins";

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
