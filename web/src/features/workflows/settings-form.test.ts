import { expect, test } from "vitest";
import { typedWith } from "~/shell/typed-fields";
import { formOf, settingsRequest } from "./settings-form";

const record = {
  name: "Labels",
  tags: ["a", "b"],
  note: null,
  settings: { timeout_ms: 30_000, concurrency: 2, keep_data: false },
};
const saved = formOf(record);

test("only the fields that were changed are sent", () => {
  expect(settingsRequest({})).toEqual({});
  let typed = typedWith({}, saved, "timeout_ms", "7.5");
  typed = typedWith(typed, saved, "concurrency", "");
  typed = typedWith(typed, saved, "keep_data", "on");
  typed = typedWith(typed, saved, "tags", "b, b, c");
  expect(settingsRequest(typed)).toEqual({
    tags: ["b", "c"],
    settings: { timeout_ms: 7_500, concurrency: false, keep_data: true },
  });
});
