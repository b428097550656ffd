// Sign-in by a provider of OpenID Connect: there and back, refused at first, then as whoever was invited.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "@playwright/test";
import { expectAccessible } from "../fixtures/test.ts";
import { type Server, startServer } from "../fixtures/server.ts";

let server: Server;
let provider: ChildProcess;
test.beforeAll(async () => {
  provider = spawn("node", [new URL("../../peers/oidc.mjs", import.meta.url).pathname], { stdio: ["pipe", "pipe", "inherit"] });
  if (provider.stdout === null) throw new Error("the provider has no output");
  const [port] = await once(provider.stdout, "data");
  const own = ["--oidc-client-id", "millrace", "--oidc-client-secret", "s3cret-of-the-client", "--oidc-name", "Acme"];
  server = await startServer(["--oidc-issuer", `http://127.0.0.1:${String(port).trim()}`, ...own]);
});
test.afterAll(async () => {
  await server.stop();
  provider.stdin?.end();
});

test("sign-in by a provider", async ({ page }) => {
  const messages: string[] = [];
  page.on("console", (message) => {
    // Without a session the API answers 401, and a stranger is refused with 403: the browser writes both to its console.
    const isRefusal = /status of 40[13]/.test(message.text());
    if ((message.type() === "error" || message.type() === "warning") && !isRefusal) messages.push(message.text());
  });
  page.on("pageerror", (error) => messages.push(String(error)));

  await page.goto(`${server.url}/sources`);
  const enter = page.getByRole("button", { name: "Sign in with Acme" });
  await expect(enter).toBeVisible();
  await page.screenshot({ path: "pictures/provider.png" });
  await expectAccessible(page);
  await enter.click();
  await expect(page.getByRole("alert")).toContainText("is not invited");
  await expect(page).toHaveURL(`${server.url}/login`);
  await expectAccessible(page);

  await server.call("POST", "/invitations", { email: "jo@x.test", role: "member" });
  await page.goto(`${server.url}/sources`);
  await enter.click();
  await expect(page.getByRole("navigation").first()).toBeVisible();
  await expect(page).toHaveURL(`${server.url}/sources`);

  // Somebody who turned back at the provider.
  await page.context().clearCookies();
  await page.goto(`${server.url}/login?error=access_denied&state=x`);
  await expect(page.getByRole("alert")).toContainText("Acme could not sign you in: access_denied");
  expect(messages, "messages on the console").toEqual([]);
});
