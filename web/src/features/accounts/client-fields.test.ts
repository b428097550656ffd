import { expect, test } from "vitest";
import { changedClient, fieldsOfClient } from "./client-fields";

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

test("a change has all that is stored, and no secret where none is given", () => {
  expect(changedClient(stored, fieldsOfClient(stored))).toEqual(stored);
  const changed = { ...fieldsOfClient(stored), client_secret: "s", scopes: "a, c" };
  expect(changedClient(stored, changed)).toEqual({
    ...stored,
    client_secret: "s",
    scopes: ["a", "c"],
  });
});

test("a new client has what is filled in", () => {
  const fields = { ...fieldsOfClient(null), client_id: "two", client_secret: "s" };
  expect(changedClient(null, fields)).toEqual({
    client_id: "two",
    client_secret: "s",
    authorize_url: "",
    token_url: "",
    scopes: [],
  });
});
