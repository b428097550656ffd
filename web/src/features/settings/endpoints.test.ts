// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { type Endpoint, endpointsOf } from "./endpoints";

const ALL: Endpoint[] = [
  { id: "hi_aB1", name: "Orders", kind: "workflow" },
  { id: "hi_cD2", name: "Shop events", kind: "source" },
];

test("endpoints are found by the name of their workflow or source, and by their id", () => {
  expect(endpointsOf("", ALL)).toEqual(ALL);
  expect(endpointsOf(" order", ALL)).toEqual([ALL[0]]);
  expect(endpointsOf("hi_cD2", ALL)).toEqual([ALL[1]]);
  expect(endpointsOf("nothing", ALL)).toEqual([]);
});

test("the id of an endpoint that is not listed can be chosen", () => {
  expect(endpointsOf("hi_zZ9 ", ALL)).toEqual([{ id: "hi_zZ9", name: "hi_zZ9" }]);
});
