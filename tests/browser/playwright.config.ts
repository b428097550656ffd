import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";
import { postgresBinaries } from "./fixtures/postgres.ts";
import type { Store } from "./fixtures/test.ts";

/** What is told of a database is the same on both; the main stories are told on Postgres too. */
const onPostgres = { name: "postgres", testMatch: /(evening|home-and-runs)\.spec\.ts/, use: { store: "postgres" as const } };

/** Debian's package of the browser without its own windows takes a fifth of the processor less. */
const browsers = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const chromium = process.env["CHROMIUM"] ?? browsers.find((path) => existsSync(path)) ?? "chromium";

export default defineConfig<object, { store: Store }>({
  testDir: "specs",
  outputDir: "results",
  snapshotPathTemplate: "{testDir}/../aria/{arg}{ext}",
  // Both workers are busy to the end, whichever files are long.
  fullyParallel: true,
  workers: 2,
  // A page stayed empty once on a busy machine, for a cause that is not found yet. The list names such a spec as flaky.
  retries: 1,
  // The machine may be busy: a bound for hangs, not for speed.
  timeout: 180_000,
  expect: { timeout: 15_000 },
  reporter: process.env["CI"] === undefined ? "list" : "dot",
  projects: [{ name: "sqlite" }, ...(postgresBinaries() === undefined ? [] : [onPostgres])],
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: chromium },
    viewport: { width: 1440, height: 900 },
    contextOptions: { reducedMotion: "reduce" },
    // A trace of every test would take a fifth of the time of all.
    trace: "on-first-retry",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  },
});
