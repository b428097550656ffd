// A delivery that the receiver refuses, and takes when it is sent again.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("a delivery shows each attempt, its headers and its body, and is sent again", async ({ page }) => {
  let answer: [status: number, body: string] = [410, "no orders are taken here any more"];
  const receiver = createServer((_, response) => response.writeHead(answer[0]).end(answer[1])).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const server = await startServer(["--egress-allow", "127.0.0.1/32"]);
  try {
    await page.context().setExtraHTTPHeaders({ authorization: `Bearer ${server.key}` });
    const orders = await workflow(server, "Orders", { one: step("$.send.emit({ raw_event: { order: 10488 } });") });
    const url = `http://bob:s3cr3t@127.0.0.1:${(receiver.address() as AddressInfo).port}/in`;
    const webhook = await server.call<{ id: string }>("POST", "/webhooks", { url, name: "ERP" });

    await page.goto(`${server.url}/webhooks/${webhook.id}`);
    await expect(page.getByText("nothing yet")).toBeVisible();
    await expect(page.getByText("No deliveries yet.")).toBeVisible();
    await server.call("POST", `/subscriptions?emitter_id=${orders.id}&listener_id=${webhook.id}`);
    await send(server, orders, {});

    await page.reload();
    await expect(page.locator(".facts")).toContainText("events of Orders");
    await page.getByRole("table", { name: "Deliveries" }).getByRole("link").click();
    const attempts = page.getByRole("region", { name: "Attempts" }).getByRole("listitem");
    await expect(attempts).toHaveCount(1);
    await expect(attempts).toContainText("Answered 410");
    await expect(attempts).toContainText("no orders are taken here any more");
    await expect(page.getByText("Dead letter")).toBeVisible();
    const headers = page.getByRole("region", { name: "Headers" });
    await expect(headers).toContainText("webhook-signature");
    await expect(headers).toContainText("Basic ***");
    await expect(page.getByRole("region", { name: "Body" })).toContainText("10488");

    answer = [200, "taken"];
    await page.getByRole("button", { name: "Send again" }).click();
    await expect(attempts).toHaveCount(2);
    await expect(attempts.last()).toContainText("Answered 200");
    await expect(page.locator(".facts")).toContainText("Delivered");

    // All that nobody took are sent again at once, from the page of the webhook.
    answer = [410, "no orders are taken here any more"];
    for (const order of [1, 2]) await send(server, orders, { order });
    const dead = page.getByRole("table", { name: "Deliveries" }).getByText("Dead letter");
    await page.goto(`${server.url}/webhooks/${webhook.id}`);
    await expect(async () => {
      await page.reload();
      await expect(dead).toHaveCount(2, { timeout: 2_000 });
    }).toPass();
    answer = [200, "taken"];
    await page.getByRole("button", { name: "Send dead letters again" }).click();
    await expect(page.getByText("2 dead letters sent again")).toBeVisible();
    await expect(async () => {
      await page.reload();
      await expect(dead).toHaveCount(0, { timeout: 2_000 });
    }).toPass();
    for (const width of [1440, 380]) {
      await page.setViewportSize({ width, height: 800 });
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), "no sideways scroll").toBeLessThanOrEqual(width);
    }
  } finally {
    await server.stop();
    receiver.close();
  }
});
