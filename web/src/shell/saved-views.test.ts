// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { viewsOf } from "./saved-views";

test("saved views are read as they were written, and what is none is passed over", () => {
  const views = [{ name: "Mine", search: { owner: "p_1", status: "failed,paused" } }];
  expect(viewsOf(JSON.stringify(views))).toEqual(views);
  for (const text of ["", "{", "null", "7", '{"name":"x"}', '[1,null,{"name":2,"search":{}}]']) {
    expect(viewsOf(text)).toEqual([]);
  }
  expect(viewsOf('[{"name":"a","search":{"q":"x","n":7}}]')).toEqual([
    { name: "a", search: { q: "x" } },
  ]);
});
