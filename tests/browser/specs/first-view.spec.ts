// What a browser asks for before Home is there: counted as it comes over the wire.
import { expect, test } from "../fixtures/test.ts";

test("the first view asks for few files and little", async ({ page }) => {
  // The server's own answers, as compressed as it sends them.
  await page.context().unrouteAll();
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  const { files, bytes } = await page.evaluate(() => {
    const all = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    const own = all.filter(({ name }) => name.includes("/assets/"));
    return { files: own.map(({ name }) => name), bytes: own.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) };
  });
  if (process.env["NUMBERS"] !== undefined) console.log(`first view: ${bytes} bytes in ${files.length} files`, files);
  expect(files.length).toBeGreaterThan(0);
  expect(files.length).toBeLessThanOrEqual(12);
  expect(bytes).toBeLessThanOrEqual(250_000);
});
