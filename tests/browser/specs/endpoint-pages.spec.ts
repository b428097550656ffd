// Answers of endpoints in a browser that is signed in: as a page, a worker, a service worker, a frame or a window of another page, none of them acts as this server's own pages do.
import type { Page } from "@playwright/test";
import { join } from "../fixtures/people.ts";
import { expect, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";

/** Code of an endpoint: a script that tries things, alone and in a page that tries more. */
const answers = step(`
    const { url, headers } = steps.trigger.event;
    const { origin, pathname } = new URL(url);
    const tries = \`
      const said = {};
      const attempt = async (name, what) => { try { said[name] = String(await what()); } catch (error) { said[name] = error.name; } };
      const common = async () => {
        await attempt("origin", () => self.origin);
        await attempt("session", async () => (await fetch("\${origin}/v1/session", { credentials: "include" })).status);
        await attempt("changes", async () => (await fetch("\${origin}/v1/api_keys", { method: "POST", credentials: "include", headers: { "content-type": "application/json", "x-millrace-csrf": "1" }, body: '{"name":"planted","scopes":["full"]}' })).status);
      };\`;
    if (pathname.endsWith("/headers")) return $.respond({ status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(headers) });
    if (pathname.endsWith(".js")) {
      const script = \`\${tries} common().then(() => self.postMessage?.(said)); self.addEventListener("fetch", (event) => event.respondWith(new Response("intercepted")));\`;
      return $.respond({ status: 200, headers: { "content-type": "text/javascript", "service-worker-allowed": "/" }, body: script });
    }
    const script = \`\${tries}
      window.said = (async () => {
        await common();
        await attempt("storage", () => localStorage.length);
        await attempt("cookie", () => document.cookie);
        await attempt("opener", () => window.opener === null ? "none" : window.opener.document.title);
        await attempt("parent", () => window.parent === window ? "none" : window.parent.document.title);
        await attempt("worker", () => new Promise((done, fail) => { const worker = new Worker(location.href.replace(/page$/, "worker.js")); worker.onmessage = () => done("works"); worker.onerror = () => fail(new TypeError()); }));
        await attempt("service", () => navigator.serviceWorker.register(location.href.replace(/page$/, "worker.js"), { scope: "/" }));
        await attempt("frame", () => new Promise((done) => { const frame = document.createElement("iframe"); frame.src = "\${origin}/login"; frame.onload = () => done(frame.contentDocument === null ? "closed" : "open"); document.body.append(frame); }));
        await attempt("popup", () => new Promise((done) => { const opened = window.open("\${origin}/login"); const look = () => { try { if (opened === null || opened.closed) return done("gone"); if (opened.document.URL !== "about:blank") return done("open"); } catch (error) { return done(error.name); } setTimeout(look, 20); }; look(); }));
        return said;
      })();\`;
    return $.respond({ status: 200, headers: { "content-type": "text/html" }, body: "<!doctype html><title>endpoint</title><body><script>" + script + "</script></body>" });`);

type Said = Record<string, string>;

const said = (page: Page): Promise<Said> => page.evaluate(() => (window as unknown as { said: Promise<Said> }).said);

/** What every script of an endpoint gets: an origin of its own, and no answer of the API. */
const nothing = { origin: "null", session: "TypeError", changes: "TypeError" };

test("a page, a worker, a service worker, a frame and a window of an endpoint have no part of a session", async ({ browser, server }) => {
  const made = await workflow(server, "Answers", { answer: answers });
  const owner = await join(browser, server, "Mara Owner", "owner");
  const keys = async (): Promise<string[]> => (await server.call<{ name: string }[]>("GET", "/api_keys")).map((key) => key.name);
  const before = await keys();

  // The page itself, where a person who is signed in follows its address.
  const own = await owner.context().newPage();
  await own.goto(`${made.endpoint}/page`);
  const alone = await said(own);
  expect(alone).toMatchObject({ ...nothing, storage: "SecurityError", cookie: "SecurityError", opener: "none", worker: "SecurityError", frame: "closed" });
  expect(["SecurityError", "TypeError"]).toContain(alone["service"]);
  expect(["SecurityError", "gone"]).toContain(alone["popup"]);
  // A frame of the application has nothing of it.
  const framed = own.frames().filter((frame) => frame !== own.mainFrame());
  expect(framed).toHaveLength(1);
  expect(await framed[0]?.evaluate(() => document.getElementById("root"))).toBeNull();

  // Its script, opened as a page, is text.
  await own.goto(`${made.endpoint}/worker.js`);
  expect(await own.evaluate(() => [self.origin, document.querySelectorAll("script").length])).toEqual(["null", 0]);
  await own.close();

  // The application opens it in a window: neither has the other.
  const opens = owner.context().waitForEvent("page");
  const handle = await owner.evaluateHandle((url) => window.open(url), `${made.endpoint}/page`);
  const opened = await opens;
  await opened.waitForURL(`${made.endpoint}/page`);
  expect(await said(opened)).toMatchObject({ ...nothing, opener: "none", cookie: "SecurityError" });
  expect(await handle.evaluate((window) => window === null || window.closed)).toBe(true);
  await opened.close();

  // What is put into the application's own page is not taken from an endpoint.
  const within = await owner.evaluate(async (at) => {
    const tried: Record<string, string> = {};
    const attempt = async (name: string, what: () => unknown): Promise<void> => {
      try {
        tried[name] = String(await what());
      } catch (error) {
        tried[name] = (error as Error).name;
      }
    };
    await attempt("worker", () => new Promise((done, fail) => {
      const worker = new Worker(`${at}/worker.js`);
      worker.onmessage = () => done("works");
      worker.onerror = () => fail(new TypeError());
    }));
    await attempt("service", () => navigator.serviceWorker.register(`${at}/worker.js`, { scope: "/" }));
    await attempt("import", () => import(`${at}/worker.js`));
    await attempt("frame", () => new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.src = `${at}/page`;
      frame.onload = () => done(frame.contentDocument === null ? "closed" : "open");
      document.body.append(frame);
    }));
    await attempt("registrations", async () => (await navigator.serviceWorker.getRegistrations()).length);
    // The API's cookie is not for its endpoints.
    await attempt("cookie", async () => ((await (await fetch(`${at}/headers`)).json()) as Said)["cookie"]);
    return tried;
  }, made.endpoint);
  expect(within).toMatchObject({ frame: "closed", registrations: "0", cookie: "undefined" });
  for (const name of ["worker", "service", "import"]) expect(["TypeError", "SecurityError"], name).toContain(within[name]);
  const inside = owner.frames().filter((frame) => frame !== owner.mainFrame());
  expect(await Promise.all(inside.map((frame) => frame.title()))).not.toContain("endpoint");

  expect(await keys()).toEqual(before);
  // The session goes on.
  await owner.goto("/");
  await expect(owner.getByRole("button", { name: "Mara Owner" })).toBeVisible();
  await owner.context().close();
});
