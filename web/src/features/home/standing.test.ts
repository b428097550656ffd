import { expect, test } from "vitest";
import { standingStill } from "./standing";

const none = { sources: [], workflows: [], accounts: [], webhooks: [] };
const app = { id: "app_1", name_slug: "shop", name: "Shop" };

test("nothing stands still where all is active and healthy", () => {
  expect(
    standingStill({
      sources: [{ id: "dc_1", name: "Orders", active: true, inactive_reason: null }],
      workflows: [{ id: "p_1", name: "Labels", active: true, deployment_id: "d_1" }],
      accounts: [{ id: "apn_1", name: "Live", app, healthy: true, problem: null }],
      webhooks: [
        {
          id: "wh_1",
          name: "ERP",
          url: "https://x",
          active: true,
          failures: 2,
          paused_until: null,
        },
      ],
    }),
  ).toEqual([]);
});

test("faults come before what was switched off, and a draft is no fault", () => {
  const still = standingStill({
    sources: [
      { id: "dc_1", name: "Off", active: false, inactive_reason: "it was made inactive" },
      { id: "dc_3", name: "Later", active: false, inactive_reason: "it was deployed inactive" },
      { id: "dc_2", name: "Broken", active: false, inactive_reason: "its hook failed" },
    ],
    workflows: [
      { id: "p_1", name: "Draft", active: false, deployment_id: null },
      { id: "p_2", name: "Resting", active: false, deployment_id: "d_1" },
    ],
    accounts: [{ id: "apn_1", name: "Live", app, healthy: false, problem: "invalid_grant" }],
    webhooks: [
      { id: "wh_1", name: null, url: "https://x", active: true, failures: 5, paused_until: 1_700 },
    ],
  });
  expect(still.map(({ id, isFault }) => [id, isFault])).toEqual([
    ["apn_1", true],
    ["wh_1", true],
    ["dc_2", true],
    ["dc_1", false],
    ["p_2", false],
  ]);
  expect(still[1]).toMatchObject({ name: "https://x", until: 1_700_000 });
  expect(standingStill(none)).toEqual([]);
});
