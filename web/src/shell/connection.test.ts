// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { check, found, lost, whenFound } from "./connection";

afterEach(() => vi.unstubAllGlobals());

test("a stream that ended means a lost connection only where the server does not answer", async () => {
  const again = vi.fn();
  whenFound(again);
  vi.stubGlobal("fetch", async () => new Response(null, { status: 200 }));
  await check();
  // Nothing was lost, so nothing is found.
  found();
  expect(again).not.toHaveBeenCalled();
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("refused")));
  await check();
  found();
  expect(again).toHaveBeenCalledTimes(1);
  lost();
  found();
  expect(again).toHaveBeenCalledTimes(2);
});
