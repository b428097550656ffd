import { expect, test } from "vitest";
import { codeParts } from "./worded";

test("what stands in backticks is code", () => {
  expect(codeParts("`least` is `5,000`, over the maximum")).toEqual([
    "",
    "least",
    " is ",
    "5,000",
    ", over the maximum",
  ]);
  expect(codeParts("nothing of the kind")).toEqual(["nothing of the kind"]);
});

test("a backtick without another stays what it is", () => {
  expect(codeParts("an open ` stays")).toEqual(["an open ` stays"]);
  expect(codeParts("`a` and ` more")).toEqual(["", "a", " and ` more"]);
});
