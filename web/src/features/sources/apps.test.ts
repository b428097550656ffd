import { expect, test } from "vitest";
import type { Source } from "~/api/schema";
import { accountsIn, appOf } from "./apps";

test("the apps of a source are those of the accounts in its values, each once", () => {
  const apps = new Map([
    ["apn_1", "GitHub"],
    ["apn_2", "GitHub"],
    ["apn_3", "Slack"],
  ]);
  const of = (configured_props: Source["configured_props"]) =>
    appOf(accountsIn({ configured_props }), apps);
  expect(of({ github: { authProvisionId: "apn_1" }, repo: "north/gate" })).toBe("GitHub");
  expect(
    of({
      all: [{ authProvisionId: "apn_1" }, { authProvisionId: "apn_2" }],
      slack: { authProvisionId: "apn_3" },
    }),
  ).toBe("GitHub, Slack");
  expect(of({ gone: { authProvisionId: "apn_9" }, timer: { intervalSeconds: 60 } })).toBe("");
});
