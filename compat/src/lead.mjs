import __leadHttp from "node:http";
import __leadHttps from "node:https";
import { syncBuiltinESMExports as __leadSync } from "node:module";
{
  const [request, fetched] = [__leadHttp.request, globalThis.fetch];
  const to = { hostname: "127.0.0.1", port: PORT, path: "/", agent: false };
  const led = (scheme) => (...args) => {
    let options = {};
    if (typeof args[0] === "string" || args[0] instanceof URL) {
      const { hostname, port, pathname, search } = new URL(args.shift());
      options = { hostname, port, path: pathname + search };
    }
    if (args[0] !== null && typeof args[0] === "object") options = { ...options, ...args.shift() };
    const { hostname = options.host ?? "localhost", port, path = "/", method = "GET", headers = {} } = options;
    const meant = `${scheme}://${hostname}${port && ![80, 443].includes(Number(port)) ? `:${port}` : ""}${path}`;
    return request({ ...to, method, headers: { ...headers, "x-fixture-url": meant } }, args.find((arg) => typeof arg === "function"));
  };
  for (const [module, scheme] of [[__leadHttp, "http"], [__leadHttps, "https"]]) {
    module.request = led(scheme);
    module.get = (...args) => {
      const sent = module.request(...args);
      sent.end();
      return sent;
    };
  }
  globalThis.fetch = async (input, init) => {
    const meant = new Request(input, init);
    const headers = new Headers(meant.headers);
    headers.set("x-fixture-url", meant.url);
    const body = ["GET", "HEAD"].includes(meant.method) ? undefined : await meant.arrayBuffer();
    return fetched(`http://127.0.0.1:${to.port}/`, { method: meant.method, headers, body });
  };
  __leadSync();
}
