// Dialogs that people type in: what was typed is not lost by a key, by a press beside the dialog, or by a reload.
import type { Locator, Page } from "@playwright/test";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { reach } from "../fixtures/keys.ts";
import { type Shop, shop } from "../fixtures/shop.ts";

type Typed = {
  name: string;
  path: string;
  open: (page: Page) => Promise<void>;
  field: (dialog: Locator) => Locator;
  text: string;
  /** What it has before anything is typed. */
  first?: RegExp;
  /** A reload loses it: a secret, or a name that is quickly typed again. */
  fleeting?: true;
};

const press = (name: string | RegExp) => async (page: Page) => page.getByRole("button", { name }).first().click();
const labelled = (name: string) => (dialog: Locator) => dialog.getByLabel(name, { exact: true });
const editor = (name: string | RegExp) => (dialog: Locator) => dialog.getByRole("textbox", { name });

const edited = async (page: Page): Promise<void> => {
  await page.getByRole("radio", { name: "Edited" }).click();
};

const dialogs = (made: Shop): Typed[] => [
  { name: "New API key", path: "/settings/keys", open: press("New key"), field: labelled("Name"), text: "deploys" },
  { name: "Invite a member", path: "/settings/members", open: press("Invite"), field: labelled("E-mail"), text: "ada@shop.example" },
  { name: "New OAuth client", path: "/settings/oauth-clients", open: press("New client"), field: labelled("Name"), text: "back office" },
  { name: "Attach domain", path: "/settings/domains", open: press("Attach domain"), field: labelled("Domain"), text: "hooks.shop.example" },
  { name: "New data store", path: "/data", open: press("New data store"), field: labelled("Name"), text: "Seen" },
  { name: "New webhook", path: "/webhooks", open: press("New webhook"), field: labelled("URL"), text: "https://erp.example/hook" },
  {
    name: "Rename account",
    path: `/accounts/${made.account}`,
    open: async (page) => {
      await press("Actions for Northgate live")(page);
      await page.getByRole("menuitem", { name: "Rename…" }).click();
    },
    field: labelled("Name"),
    text: "Northgate of the north",
    first: /^Northgate live$/,
  },
  {
    name: "Connect account",
    path: "/accounts",
    open: async (page) => {
      await press("Connect account")(page);
      await page.getByRole("searchbox", { name: "App name" }).fill("Northgate");
      await page.getByRole("dialog").getByRole("button", { name: /^Northgate Shop/ }).click();
    },
    field: (dialog) => dialog.getByLabel("API key"),
    text: "hunter2",
    fleeting: true,
  },
  {
    name: "Save this view",
    path: "/runs?status=failed",
    open: async (page) => {
      await press("Views")(page);
      await page.getByRole("menuitem", { name: "Save this view…" }).click();
    },
    field: labelled("Name"),
    text: "of tonight",
    fleeting: true,
  },
  { name: "Resume the run", path: `/runs/${made.paused}`, open: press("Resume"), field: editor("Data for the step"), text: '{"yes": 1}' },
  {
    name: "Replay of a run",
    path: `/runs/${made.failed}`,
    open: async (page) => {
      await press("Replay…")(page);
      await edited(page);
    },
    field: editor("Event"),
    text: '{"edited": 1}',
    first: /10488/,
  },
  {
    name: "Replay of many",
    path: `/errors/${made.group}`,
    open: async (page) => {
      await press(/^Replay all/)(page);
      await page.getByRole("radio", { name: "One event for all" }).click();
    },
    field: editor("Event"),
    text: '{"for": "all"}',
    first: /^\{\}$/,
  },
  { name: "Values as JSON", path: `/sources/${made.source}/configure`, open: press("Show as JSON"), field: editor("Form values"), text: '{"least": 7}', first: /"least": 100/ },
  { name: "Edit a copy", path: `/workflows/${made.failing}/edit?run=${made.failed}`, open: press("Edit a copy"), field: editor("Event"), text: '{"copied": 1}', first: /10488/ },
  {
    name: "Pinned result",
    path: `/workflows/${made.ledger}/edit?step=post`,
    open: press("Pin a result…"),
    field: editor(/^Pinned result of/),
    text: '{"$return_value": 7}',
    first: /null/,
  },
];

const isEditor = (field: Locator): Promise<boolean> => field.evaluate((each) => each.matches(".cm-content"));

async function type(page: Page, field: Locator, text: string): Promise<void> {
  await field.focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

const expectText = async (field: Locator, text: string | RegExp): Promise<void> =>
  (await isEditor(field)) ? expect(field).toHaveText(text) : expect(field).toHaveValue(text);

/** Of an editor the first Escape is its own. */
async function escape(page: Page, field: Locator): Promise<void> {
  const isIn = await field.evaluate((each) => each === document.activeElement && each.matches(".cm-content"));
  await page.keyboard.press("Escape");
  if (isIn) await page.keyboard.press("Escape");
}

test("what is typed in a dialog stays when the page beside it is pressed, and Escape asks before it goes", async ({ page, server }) => {
  const made = await shop(server);
  for (const { name, path, open, field: fieldOf, text, first, fleeting } of dialogs(made)) {
    await test.step(name, async () => {
      await page.goto(path);
      await open(page);
      const dialog = page.getByRole("dialog");
      const field = fieldOf(dialog);
      const asks = dialog.getByRole("alertdialog", { name: "Discard what you typed?" });
      await expect(field).toBeVisible();
      if (first !== undefined) await expectText(field, first);

      // Nothing is typed: nothing is asked.
      await escape(page, field);
      await expect(dialog).toHaveCount(0);
      await open(page);
      await type(page, field, text);
      await page.mouse.click(4, 300);
      await expectText(field, text);
      await expect(asks).toHaveCount(0);

      await field.focus();
      await escape(page, field);
      await expect(asks.getByRole("button", { name: "Keep editing" })).toBeFocused();
      // One layer at a time, and back to where the person typed.
      await page.keyboard.press("Escape");
      await expect(asks).toHaveCount(0);
      await expect(field).toBeFocused();
      await expectText(field, text);

      await dialog.getByRole("button", { name: "Close" }).first().click();
      await expect(asks).toBeVisible();
      if (name === "Edit a copy" || name === "New API key") await expectAccessible(page);
      await asks.getByRole("button", { name: "Keep editing" }).click();
      await expectText(field, text);

      if (fleeting === undefined) {
        await page.reload();
        await open(page);
        await expectText(field, text);
        // Also of what nobody touched since.
        await field.focus();
        await escape(page, field);
      } else {
        await escape(page, field);
      }
      await asks.getByRole("button", { name: "Discard" }).click();
      await expect(dialog).toHaveCount(0);
      await open(page);
      await expectText(field, first ?? "");
    });
  }
});

test("an editor in a dialog is left by keys: Tab indents, Escape lets it go on, and the dialog stays", async ({ page, server }) => {
  const made = await shop(server);
  await page.goto(`/sources/${made.source}`);
  await page.getByRole("button", { name: "Run now" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Run now" });
  const event = dialog.getByRole("textbox", { name: "Event" });
  await type(page, event, "[1]");
  await page.keyboard.press("Home");
  await page.keyboard.press("Tab");
  await expect(event).toBeFocused();
  await expect(event).toHaveText("  [1]");
  await expect(event).toHaveAccessibleDescription("Esc, then Tab leaves the editor");
  await expect(dialog.getByText("Esc, then Tab leaves the editor")).toBeVisible();
  await expectAccessible(page);

  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Escape");
  await expect(dialog.getByText("Tab leaves the editor", { exact: true })).toBeVisible();
  await reach(page, dialog.getByRole("button", { name: "Close" }).last());
  await expect(event).toHaveText("  [1]");
  // What is typed next takes Tab back.
  await event.focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("End");
  await page.keyboard.press("Tab");
  await expect(event).toBeFocused();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+Tab");
  await expect(event).not.toBeFocused();
  await expect(dialog).toBeVisible();
});

test("the event of Run now and the message of a deploy are there again once their dialogs were closed", async ({ page, server }) => {
  const made = await shop(server);
  await page.goto(`/sources/${made.timer}`);
  const run = page.getByRole("dialog", { name: "Run now" });
  const event = run.getByRole("textbox", { name: "Event" });
  const open = () => page.getByRole("button", { name: "Run now" }).first().click();
  await open();
  await type(page, event, '{"kept": 1}');
  await escape(page, event);
  await expect(run).toHaveCount(0);
  await open();
  await expect(event).toHaveText('{"kept": 1}');
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(run).toHaveCount(0);
  await open();
  await expect(event).toHaveText('{"kept": 1}');
  await run.getByRole("button", { name: "Reset the event" }).click();
  await expect(event).toHaveText("{}");
  await escape(page, event);

  await page.goto(`/workflows/${made.failing}/edit`);
  const deploy = page.getByRole("dialog", { name: /^Deploy/ });
  const message = deploy.getByLabel("Message");
  await page.getByRole("button", { name: "Deploy…" }).click();
  await message.fill("An order without an address has a label");
  await page.keyboard.press("Escape");
  await expect(deploy).toHaveCount(0);
  await page.goto(`/accounts/${made.account}`);
  await page.goto(`/workflows/${made.failing}/edit`);
  await page.getByRole("button", { name: "Deploy…" }).click();
  await expect(message).toHaveValue("An order without an address has a label");

  // The keys of a dialog over another one are not those of the one below.
  const live = (await server.call<{ deployment_id: string }>("GET", `/workflows/${made.failing}`)).deployment_id;
  await deploy.getByRole("button", { name: "Discard draft…" }).click();
  await expect(page.getByRole("dialog", { name: "Discard draft?" })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByText("The draft was discarded")).toBeVisible();
  const now = await server.call<{ deployment_id: string }>("GET", `/workflows/${made.failing}`);
  expect(now.deployment_id).toBe(live);
});

test("the name of a new workflow outlives a reload and the deploy of a source on the spot", async ({ page }) => {
  await page.goto("/workflows/new");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Orders to the ledger");
  await page.reload();
  await expect(name).toHaveValue("Orders to the ledger");
  await page.getByRole("radio", { name: "Events of a source" }).click();
  await page.getByRole("button", { name: "Deploy a new source…" }).click();
  const dialog = page.getByRole("dialog", { name: "New source" });
  await dialog.getByRole("textbox", { name: "Search, or paste a key, a URL or code" }).fill('export default { name: "On the spot", version: "1", run() {} };');
  await dialog.getByRole("button", { name: "Check the code" }).click();
  await dialog.getByRole("button", { name: "Deploy source" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(/\/workflows\/new/);
  await expect(page.getByRole("combobox", { name: "Source" })).toHaveValue("On the spot");
  await expect(name).toHaveValue("Orders to the ledger");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(page.getByRole("heading", { name: "Orders to the ledger" })).toBeVisible();
  await page.goto("/workflows/new");
  await expect(name).toHaveValue("");
});

test("Back asks before a dialog with typed text goes with its page", async ({ page }) => {
  await page.goto("/settings/members");
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByRole("button", { name: "New key" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New API key" });
  const back = () => page.evaluate(() => history.back());
  await dialog.getByLabel("Name", { exact: true }).fill("deploys");
  await back();
  const asks = page.getByRole("alertdialog", { name: "Discard what you typed?" });
  await expect(asks).toBeVisible();
  await expect(page).toHaveURL(/\/settings\/keys$/);
  await asks.getByRole("button", { name: "Keep editing" }).click();
  await expect(dialog.getByLabel("Name", { exact: true })).toHaveValue("deploys");
  await back();
  await asks.getByRole("button", { name: "Discard" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(/\/settings\/keys$/);

  // Nothing is typed: nothing is asked.
  await page.getByRole("button", { name: "New key" }).first().click();
  await expect(dialog).toBeVisible();
  await back();
  await expect(page).toHaveURL(/\/settings\/members$/);
  await expect(dialog).toHaveCount(0);
});
