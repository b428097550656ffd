import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "specs",
  outputDir: "results",
  fullyParallel: false,
  workers: 2,
  // A page stayed empty once on a busy machine, for a cause that is not found yet. The list names such a spec as flaky.
  retries: 1,
  // The machine may be busy: a bound for hangs, not for speed.
  timeout: 180_000,
  expect: { timeout: 15_000 },
  reporter: process.env["CI"] === undefined ? "list" : "dot",
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium" },
    viewport: { width: 1440, height: 900 },
    contextOptions: { reducedMotion: "reduce" },
    trace: "retain-on-failure",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  },
});
