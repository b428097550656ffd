// Requests of code to the hosted platform's fixed API address, which components name literally:
// this server answers them (reference 3). No connection is made: the request is an ask, and the
// socket object that code sees never leaves the process.
import type http from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { Duplex } from "node:stream";

import { ask } from "./ask.ts";
import { type Scope, scope as scopeNow } from "./context.ts";
import type { Bag } from "./types.ts";

const HOST = "api.pipedream.com";
/** Headers that the server reads. */
const HEADERS = ["authorization", "content-type"];

type AnyFunction = (...args: unknown[]) => unknown;

interface Answer {
  status: number;
  content_type: string;
  body: string;
}

async function answerOf(scope: Scope | undefined, method: string, path: string, header: (name: string) => unknown, body: string): Promise<Answer> {
  if (!scope) throw new Error(`${HOST} is asked while no run is going on`);
  const headers: Bag = {};
  for (const name of HEADERS) {
    const value = header(name);
    if (typeof value === "string") headers[name] = value;
  }
  return (await ask(scope.call, "platform.request", { method, path, headers, body })) as Answer;
}

/** An end of a connection within this process. */
class End extends Duplex {
  scope: Scope | undefined;
  #peer: End | undefined;
  #taken: (() => void) | undefined;

  static pair(): [End, End] {
    const [a, b] = [new End(), new End()];
    a.#peer = b;
    b.#peer = a;
    return [a, b];
  }

  override _read(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (!this.#peer || this.#peer.destroyed) return done();
    this.#peer.#taken = done;
    this.#peer.push(chunk);
  }

  override _final(done: () => void): void {
    this.#peer?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this._read();
    this.#peer?.push(null);
    done(error);
  }

  // What else is done to sockets.
  setTimeout = (): this => this;
  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;
}

function respond(request: http.IncomingMessage, response: http.ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { scope } = request.socket as unknown as End;
    const body = Buffer.concat(chunks).toString("utf8");
    answerOf(scope, request.method ?? "GET", request.url ?? "/", (name) => request.headers[name], body).then(
      (answer) => response.writeHead(answer.status, { "content-type": answer.content_type, connection: "close" }).end(answer.body),
      (error: unknown) => response.writeHead(502, { "content-type": "text/plain", connection: "close" }).end(String((error as Error).message)),
    );
  });
}

/** The arguments of `https.request` for `http.request`, where they name the hosted platform. */
function led(args: unknown[], connect: () => Duplex): unknown[] | undefined {
  const [first] = args;
  const url = first instanceof URL ? first : typeof first === "string" && URL.canParse(first) ? new URL(first) : undefined;
  const options = ((url ? args[1] : first) ?? {}) as Bag;
  const name = url?.hostname ?? options["hostname"] ?? String(options["host"] ?? "").replace(/:\d+$/, "");
  if (name !== HOST) return undefined;
  const given = typeof options === "object" ? options : {};
  const path = url ? { path: url.pathname + url.search } : {};
  const made = { ...path, ...given, host: HOST, hostname: HOST, protocol: "http:", agent: undefined, createConnection: connect };
  return [made, args.find((arg) => typeof arg === "function")];
}

/** A call with the name of a module whose code is known: one of Node's, or one that is bundled. */
const OF_KNOWN = /\s*\(\s*["'](?![./]|file:|data:)[^"'\\]*["']\s*[),]/;
/** Text by which code comes to `node:https`: its name as a string, or what loads what is known only as the code runs. Addresses begin otherwise. */
const MAY_USE_HTTPS = new RegExp(
  [
    /https\\?["'`]/,
    // The line that the bundler puts first makes `require` (`BANNER` in `crates/bundle`).
    /\bcreateRequire\b(?! as __millraceRequire\b)/,
    new RegExp(String.raw`\brequire\b(?! \?\?= __millraceRequire\b|${OF_KNOWN.source})`),
    new RegExp(String.raw`\bimport\b(?=\s*\()(?!${OF_KNOWN.source})`),
    /\b(?:getBuiltinModule|_load|eval)\b|\bFunction\s*\(/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

/**
 * From now on, requests to the hosted platform are asks. `sources`: the text of all code that is to be loaded; undefined where that is not known.
 * Node's own modules for HTTPS take as long to load as the rest of a small host, so where no code can come to them they are not loaded.
 */
export function leadHosted(sources: string[] | undefined): void {
  if (sources === undefined || sources.some((text) => MAY_USE_HTTPS.test(text))) leadHttps();
  leadFetch();
  syncBuiltinESMExports();
}

function leadHttps(): void {
  const http = require("node:http") as typeof import("node:http");
  const https = require("node:https") as typeof import("node:https");
  const server = http.createServer(respond);
  const connect = (): Duplex => {
    const [ours, theirs] = End.pair();
    theirs.scope = scopeNow();
    server.emit("connection", theirs);
    return ours;
  };
  for (const name of ["request", "get"] as const) {
    const direct = https[name] as AnyFunction;
    const target = https as unknown as Bag;
    target[name] = function (this: unknown, ...args: unknown[]) {
      const ours = led(args, connect);
      return ours ? (http[name] as AnyFunction)(...ours) : direct.apply(this, args);
    };
  }
}

function leadFetch(): void {
  const fetched = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const text = input instanceof Request ? input.url : String(input);
    if (!URL.canParse(text) || new URL(text).hostname !== HOST) return await fetched(input, init);
    const request = new Request(input, init);
    const { pathname, search } = new URL(text);
    const answer = await answerOf(scopeNow(), request.method, pathname + search, (name) => request.headers.get(name), await request.text());
    return new Response(answer.body, { status: answer.status, headers: { "content-type": answer.content_type } });
  };
}
