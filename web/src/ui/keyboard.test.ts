// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { stroke, takesText } from "./keyboard";

const key = (key: string, more = {}) =>
  stroke({ key, metaKey: false, ctrlKey: false, altKey: false, shiftKey: false, ...more });

it("spells strokes as shortcuts do", () => {
  expect(key("k", { metaKey: true })).toBe("mod+k");
  expect(key("K", { ctrlKey: true, shiftKey: true })).toBe("mod+shift+k");
  expect(key("?", { shiftKey: true })).toBe("?");
  expect(key("X", { shiftKey: true })).toBe("shift+x");
  expect(key("ArrowDown", { altKey: true })).toBe("alt+down");
  expect(key("Enter", { shiftKey: true, metaKey: true })).toBe("mod+shift+enter");
});

it("leaves keys to fields that take text, and only to those", () => {
  const input = document.createElement("input");
  expect(takesText(input)).toBe(true);
  input.type = "checkbox";
  expect(takesText(input)).toBe(false);
  expect(takesText(document.createElement("textarea"))).toBe(true);
  expect(takesText(document.createElement("button"))).toBe(false);
  const readOnly = document.createElement("div");
  readOnly.role = "textbox";
  expect(takesText(readOnly)).toBe(true);
  expect(takesText(null)).toBe(false);
});
