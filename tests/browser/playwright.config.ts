import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "specs",
  outputDir: "results",
  fullyParallel: false,
  workers: 2,
  retries: 0,
  // The machine may be busy: a bound for hangs, not for speed.
  timeout: 60_000,
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
