// A person's first evening: the link that the server printed, a password, the application, and out again.
import { expect, test } from "@playwright/test";
import { expectAccessible } from "../fixtures/test.ts";
import { type Server, startServer } from "../fixtures/server.ts";

let server: Server;
test.beforeAll(async () => {
  server = await startServer();
});
test.afterAll(async () => {
  await server.stop();
});

test("first visit, sign-out and sign-in", async ({ page }) => {
  const messages: string[] = [];
  page.on("console", (message) => {
    // Without a session the API answers 401, which the browser writes to its console.
    const isRefusal = message.text().includes("status of 401");
    if ((message.type() === "error" || message.type() === "warning") && !isRefusal) messages.push(message.text());
  });
  page.on("pageerror", (error) => messages.push(String(error)));

  await page.goto(`${server.url}/runs`);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.screenshot({ path: "pictures/login.png" });
  await expectAccessible(page);

  await page.goto(server.setupUrl());
  await expect(page.getByRole("heading", { name: "Welcome to Millrace" })).toBeVisible();
  await page.screenshot({ path: "pictures/setup.png" });
  await expectAccessible(page);
  await page.getByLabel("Your name").fill("Mara Lindqvist");
  await page.getByLabel("E-mail").fill("mara@northgate.example");
  await page.getByLabel("Password", { exact: true }).fill("short");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/has 5 characters[,;] allowed are 12 to 256/)).toBeVisible();
  messages.length = 0;
  await page.getByLabel("Password", { exact: true }).fill("a wheel in the race");
  await page.keyboard.press("Enter");
  const me = page.getByRole("button", { name: "Mara Lindqvist" });
  await expect(me).toBeVisible();
  await page.screenshot({ path: "pictures/signed-in.png" });

  const [cookie] = await page.context().cookies(`${server.url}/v1/session`);
  expect(cookie).toMatchObject({ name: "millrace_session", path: "/v1", httpOnly: true, sameSite: "Strict" });
  expect(await page.context().cookies(`${server.url}/e/x`)).toEqual([]);

  await page.goto(`${server.url}/settings/members`);
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByLabel("E-mail").fill("jo@northgate.example");
  await page.getByRole("button", { name: "Create link" }).click();
  await expect(page.getByText(/\/invite\/[0-9A-Za-z]+/)).toBeVisible();
  await page.getByRole("checkbox", { name: "I stored it" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("table", { name: "Invitations" })).toContainText("jo@northgate.example");
  await page.screenshot({ path: "pictures/members.png" });
  await expectAccessible(page);
  await page.goto(`${server.url}/settings/sessions`);
  await expect(page.getByRole("table", { name: "Your sessions" })).toContainText("127.0.0.1");
  await expect(page.getByRole("table", { name: "Your sessions" })).toContainText(/Chrome \d+ on Linux/);
  await page.screenshot({ path: "pictures/sessions.png" });
  await expectAccessible(page);
  await page.getByRole("button", { name: "Change password…" }).click();
  await expect(page.getByLabel("Current password")).toBeFocused();
  await expect(page.getByLabel("E-mail")).toBeHidden();
  await page.getByLabel("Current password").fill("not the password");
  await page.getByLabel("New password").fill("another wheel in the race");
  await page.getByRole("button", { name: "Change password", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("Current password");
  await expect(page.getByRole("dialog").getByText("is not your password")).toBeVisible();
  await expect(page.getByLabel("Current password")).toBeFocused();
  await expectAccessible(page);
  messages.length = 0;
  await page.getByLabel("Current password").fill("a wheel in the race");
  await page.getByRole("button", { name: "Change password", exact: true }).click();
  await expect(page.getByText("Your other sessions were signed out.")).toBeVisible();

  await me.click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await page.goto(`${server.url}/sources`);
  await expect(page).toHaveURL(/\/login\?next=/);
  await page.getByLabel("E-mail").fill("mara@northgate.example");
  await page.getByRole("button", { name: "Forgot your password?" }).click();
  await expect(page.getByRole("alert")).toContainText("This server sends no mail");
  messages.length = 0;
  await page.getByLabel("Password", { exact: true }).fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "password is wrong" })).toContainText("The e-mail address or the password is wrong");
  await page.getByLabel("Password", { exact: true }).fill("another wheel in the race");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(me).toBeVisible();
  await expect(page).toHaveURL(`${server.url}/sources`);
  expect(messages, "messages on the console").toEqual([]);
});
