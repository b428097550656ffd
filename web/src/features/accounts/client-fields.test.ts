import { expect, test } from "vitest";
import { changedClient } from "./client-fields";

const stored = {
  client_id: "one",
  authorize_url: "https://x.test/authorize",
  token_url: "https://x.test/token",
  revoke_url: "https://x.test/revoke",
  authorize_params: { access_type: "offline" },
  secret_in_body: true,
  uid_field: "authed_user.id",
  scopes: ["a", "b"],
};

const typed = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([name, to]) => [name, { from: "", to }]));

test("a change has all that is stored now, and no secret where none is given", () => {
  expect(changedClient(stored, {})).toEqual(stored);
  expect(changedClient(stored, typed({ client_secret: "s", scopes: "a, c" }))).toEqual({
    ...stored,
    client_secret: "s",
    scopes: ["a", "c"],
  });
});

test("a new client has what is filled in", () => {
  expect(changedClient(null, typed({ client_id: "two", client_secret: "s" }))).toEqual({
    client_id: "two",
    client_secret: "s",
    authorize_url: "",
    token_url: "",
    scopes: [],
  });
});
