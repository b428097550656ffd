// What a browser asks for before Home is there: counted as it comes over the wire.
import { expect, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("the first view asks for few files and little", async ({ page, server }) => {
  // A Home with something on it: ids and steps bring the mono font with them.
  const made = await workflow(server, "Counted", { one: step("return 1;") });
  await send(server, made, { n: 1 });
  // On a slow machine the code of other pages would come before what is counted.
  await page.addInitScript(() => Object.defineProperty(navigator, "connection", { value: { saveData: true } }));
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Recent runs" })).toContainText("Counted");
  // What is asked for by then and what is asked for a moment later are one number: all fonts are there.
  await page.evaluate(async () => {
    await Promise.all(["500 13px 'Hanken Grotesk'", "420 12px 'JetBrains Mono'"].map((font) => document.fonts.load(font)));
    await document.fonts.ready;
  });
  const { files, bytes } = await page.evaluate(() => {
    const all = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    const own = all.filter(({ name }) => name.includes("/assets/"));
    return { files: own.map(({ name }) => name), bytes: own.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) };
  });
  if (process.env["NUMBERS"] !== undefined) console.log(`first view: ${bytes} bytes in ${files.length} files`, files);
  expect(files.filter((name) => name.endsWith(".woff2")).length).toBe(2);
  expect(files.length).toBeLessThanOrEqual(12);
  expect(bytes).toBeLessThanOrEqual(250_000);
});
