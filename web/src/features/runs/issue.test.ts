import { expect, it } from "vitest";
import { masked } from "./issue";

it("masks values whose names are those of secrets, wherever they are", () => {
  expect(
    masked({ headers: { authorization: "Bearer x", host: "a" }, list: [{ api_key: "k" }] }),
  ).toEqual({
    headers: { authorization: "(masked)", host: "a" },
    list: [{ api_key: "(masked)" }],
  });
  expect(masked({ token: null, text: "token" })).toEqual({ token: null, text: "token" });
});
