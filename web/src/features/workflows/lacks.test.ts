import { expect, test } from "vitest";
import { propsOf } from "~/api/props";
import { lacksOf } from "./lacks";

const defs = propsOf([
  { name: "slack", type: "app", label: "Slack" },
  { name: "text", type: "string", label: "Text" },
  { name: "more", type: "string", optional: true },
  { name: "token", type: "string", secret: true, label: "Token" },
  { name: "http", type: "$.interface.http" },
]);

test("values and accounts that a step needs are said, unless it is off", () => {
  const props = { text: "" };
  const all = { accounts: ["Slack"], values: ["Text", "Token"] };
  expect(lacksOf({ props, disabled: false }, defs, [])).toEqual(all);
  expect(lacksOf({ props, disabled: false }, defs, ["token"]).values).toEqual(["Text"]);
  const none = { accounts: [], values: [] };
  expect(lacksOf({ props, disabled: true }, defs, [])).toEqual(none);
  const full = { slack: { authProvisionId: "a" }, text: "x", token: 0 };
  expect(lacksOf({ props: full, disabled: false }, defs, [])).toEqual(none);
});
