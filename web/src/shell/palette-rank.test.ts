import { expect, test } from "vitest";
import { ranked } from "./palette-rank";

const act = (label: string, also?: string) => ({ label, ...(also === undefined ? {} : { also }) });
const names = (query: string) =>
  ranked(
    [
      {
        value: "Pages",
        items: [act("Runs", "history"), act("Errors"), act("Workflows")],
      },
      { value: "Things", items: [act("Stock for shops"), act("Orders")] },
      { value: "Acts", items: [act("Switch theme")] },
    ],
    query,
  ).map(({ value, items }) => [value, ...items.map(({ label }) => label)].join(" "));

test("what begins as typed comes first, whatever group it is of", () => {
  expect(names("or")).toEqual(["Things Orders Stock for shops", "Pages Errors Workflows"]);
  expect(names("st")).toEqual(["Things Stock for shops"]);
  expect(names("sh")).toEqual(["Things Stock for shops"]);
});

test("a name without spaces is found from its middle", () => {
  const found = [{ value: "Things", items: [act("新しい注文・倉庫三号館"), act("orders")] }];
  for (const query of ["倉庫", "三号", "注文"]) {
    expect(ranked(found, query)).toMatchObject([{ items: [{ label: "新しい注文・倉庫三号館" }] }]);
  }
});

test("words beside the name find it too", () => {
  expect(names("hist")).toEqual(["Pages Runs"]);
  expect(names("nothing like it")).toEqual([]);
});

test("everything is there while nothing is typed", () => {
  expect(names("")).toHaveLength(3);
});

test("what the server found for the words is shown, whichever of its words they are", () => {
  const found = { value: "Things", items: [act("Order fulfilment")], fits: true };
  expect(ranked([found], "p_8kQ2")).toMatchObject([
    { value: "Things", items: [{ label: "Order fulfilment" }] },
  ]);
  expect(ranked([{ ...found, fits: false }], "p_8kQ2")).toEqual([]);
  // It comes after what is called like that.
  expect(
    ranked([found, { value: "Pages", items: [act("Errors")] }], "err").map(({ value }) => value),
  ).toEqual(["Pages", "Things"]);
});
