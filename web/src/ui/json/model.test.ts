import { describe, expect, it, test } from "vitest";
import {
  cutOf,
  firstOpen,
  hintOf,
  imageOf,
  jqPath,
  keyOf,
  momentOf,
  openFor,
  pathText,
  rangeKey,
  rowsOf,
  search,
} from "./model";

const event = {
  body: { items: [{ id: 7, "odd.name": "x" }], none: {} },
  method: "POST",
};

const names = (open: Set<string>, value: unknown = event) =>
  rowsOf(value, open).map(({ name, range }) => (range ? `${range.from}…${range.to}` : name));

describe("rows", () => {
  it("leave the root's own line out and open what is open", () => {
    expect(names(new Set())).toEqual(["body", "method"]);
    expect(names(new Set([keyOf(["body"])]))).toEqual(["body", "items", "none", "method"]);
  });

  it("show a root that is no container as one row", () => {
    expect(rowsOf("text", new Set())).toMatchObject([{ name: null, value: "text", kind: "leaf" }]);
  });

  it("split long arrays into ranges of a hundred, which open by themselves", () => {
    const long = Array.from({ length: 250 }, (_, index) => index);
    expect(names(new Set(), long)).toEqual(["0…99", "100…199", "200…249"]);
    const rows = rowsOf(long, new Set([rangeKey([], 200)]));
    expect(rows).toHaveLength(53);
    expect(rows.at(-1)).toMatchObject({ name: 249, path: [249], depth: 1 });
  });

  it("open JSON within a string", () => {
    const rows = rowsOf({ payload: '{"a":{"b":1}}' }, new Set([keyOf(["payload"])]));
    expect(rows.map(({ path }) => path)).toEqual([["payload"], ["payload", "a"]]);
    expect(rows[0]).toMatchObject({ parsed: true, size: 1 });
  });

  it("never open an empty container", () => {
    expect(rowsOf({ none: {} }, new Set([keyOf(["none"])]))[0]?.kind).toBe("leaf");
  });

  it("open a usual event whole at first, and a huge one not", () => {
    expect(names(firstOpen(event))).toEqual([
      "body",
      "items",
      0,
      "id",
      "odd.name",
      "none",
      "method",
    ]);
    const huge = { list: Array.from({ length: 5_000 }, () => ({ a: 1 })) };
    expect(names(firstOpen(huge), huge)).toEqual(["list"]);
  });
});

describe("paths", () => {
  it.each([
    [["body", "items", 0, "id"], "steps.trigger.event.body.items[0].id", ".body.items[0].id"],
    [["odd.name"], 'steps.trigger.event["odd.name"]', '.["odd.name"]'],
    [
      ["$return_value", "rows"],
      "steps.trigger.event.$return_value.rows",
      '.["$return_value"].rows',
    ],
    [[], "steps.trigger.event", "."],
  ])("%j", (path, code, jq) => {
    expect(pathText("steps.trigger.event", path)).toBe(code);
    expect(jqPath(path)).toBe(jq);
  });

  it("name the containers that must be open", () => {
    expect(openFor(event, ["body", "items", 0, "id"])).toEqual([
      keyOf(["body"]),
      keyOf(["body", "items"]),
      keyOf(["body", "items", 0]),
    ]);
    const long = { list: Array.from({ length: 250 }, (_, index) => index) };
    expect(openFor(long, ["list", 120])).toEqual([keyOf(["list"]), rangeKey(["list"], 100)]);
  });
});

describe("search", () => {
  it("finds names and values, in strings of JSON too, in the order of the tree", () => {
    const value = { shipping: 1, other: { a: "Shipping cost" }, text: '{"inner":"shipping"}' };
    expect(search(value, "shipping").map(({ path }) => path)).toEqual([
      ["shipping"],
      ["other", "a"],
      ["text", "inner"],
    ]);
    expect(search(value, "")).toEqual([]);
    expect(search(value, "shipping", 1)).toHaveLength(1);
  });
});

describe("what a value looks like", () => {
  it("is a moment where the text or the name says so", () => {
    expect(momentOf("created", 1_795_613_439)).toBe(1_795_613_439_000);
    expect(momentOf("created_at_ms", 1_795_582_194_956)).toBe(1_795_582_194_956);
    expect(momentOf("x", "2026-11-25T04:49:54.956Z")).toBe(1_795_582_194_956);
    expect(momentOf("amount", 1_795_613_439)).toBeUndefined();
    expect(momentOf("created", 12)).toBeUndefined();
    expect(momentOf("x", "2026-13-45T99:99:99Z")).toBeUndefined();
  });

  it("is an image where it is base64 of one", () => {
    const png = `iVBORw0KGgo${"A".repeat(100)}`;
    expect(imageOf(png)).toBe(`data:image/png;base64,${png}`);
    expect(imageOf("iVBORw0KGgo not base64 <script>".padEnd(100))).toBeUndefined();
    expect(imageOf(`data:image/png;base64,${"A".repeat(80)}`)).toMatch(/^data:image/);
  });

  it("is hinted at by its leaves", () => {
    expect(hintOf({ city: "Bergen", country: "NO", at: null, deep: {} })).toBe("Bergen, NO");
  });
});

test("what the server cut is known by its mark, and says how long it was where that is known", () => {
  expect(cutOf({ $truncated: true, $bytes: 4_002, $preview: "{" })).toEqual({ bytes: 4_002 });
  expect(cutOf({ $truncated: true, $chars: 9_000, $preview: "a" })).toEqual({ chars: 9_000 });
  expect(cutOf({ $truncated: true })).toEqual({});
  for (const other of [null, 7, {}, { $bytes: 4 }, { $truncated: false, $bytes: 4 }]) {
    expect(cutOf(other)).toBeUndefined();
  }
});
