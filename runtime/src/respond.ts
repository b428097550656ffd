// HTTP answers: of a source (`this.http.respond`) and of a workflow (`$.respond`).
import { Readable } from "node:stream";
import { types } from "node:util";

import type { CallContext } from "./context.ts";
import { jsonText, kindOf } from "./errors.ts";
import { JSON, ownText } from "./kept.ts";
import type { Bag } from "./types.ts";

/** `elsewhere`: what runs, where that is not `run`: nobody waits for an answer there. */
export function httpInterface(endpoint: string, call: CallContext, elsewhere?: string): object {
  const refuse = () => Promise.resolve(call.log("warn", `respond was called in ${elsewhere}; only \`run\` answers requests: nothing was sent`));
  return { endpoint, respond: elsewhere === undefined ? (response: unknown) => respond(response, call) : refuse };
}

/** Sends the answer before it returns, unless the body is a stream or a promise. */
export function respond(response: unknown, call: CallContext): Promise<void> {
  if (isThenable(response)) return tracked(call, Promise.resolve(response).then((given) => respond(given, call)));
  const { status, headers, body, immediate } = fieldsOf(response, call);
  const code = Number(status ?? 200);
  // HTTP answers 1xx are interim: no client would see an end.
  if (!Number.isInteger(code) || code < 200 || code > 599) {
    if (call.refusedStatus !== null) call.refusedStatus = typeof status === "number" ? `the status ${status}` : "a status that is no number";
    throw new RangeError(`respond: the status ${String(status)} is not an integer from 200 to 599`);
  }
  call.refusedStatus = null;
  const list = headerList("respond", headers);
  checkHeaders("respond", list);
  for (const [name, value] of list) {
    if (HEADER_NAME.test(name) && !NOT_IN_VALUES.test(value)) continue;
    call.log("warn", `respond: the header ${jsonText(name.slice(0, 80), "its name")} is not sent: a name has letters, digits and \`-_.\` alone, a value no control characters`);
  }
  if (isThenable(body)) {
    if (immediate === true) throw new TypeError("respond: a promise cannot be sent with `immediate: true`; await it first");
    return tracked(call, Promise.resolve(body).then((given) => respond({ status: code, headers, body: given }, call)));
  }
  const frame = (text: string, encoding: string) => call.sendText(`"t":"respond","status":${code},"headers":${ownText(list)},"body":${JSON.stringify(text)},"encoding":"${encoding}","immediate":${immediate === true}}`);
  if (isStream(body)) {
    if (immediate === true) throw new TypeError("respond: a stream cannot be sent with `immediate: true`");
    return tracked(call, collect(body).then((bytes) => frame(bytes.toString("base64"), "base64")));
  }
  if (body === undefined || body === null) frame("", "utf8");
  else if (typeof body === "string") frame(body, "utf8");
  else if (ArrayBuffer.isView(body)) frame(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"), "base64");
  else if (body instanceof ArrayBuffer) frame(Buffer.from(body).toString("base64"), "base64");
  else if (types.isSharedArrayBuffer(body)) frame(Buffer.from(body).toString("base64"), "base64");
  else if (WEB_BODIES.has(tagOf(body))) {
    if (immediate === true) throw new TypeError(`respond: a ${tagOf(body)} cannot be sent with \`immediate: true\``);
    return tracked(call, webBody(body, list).then((bytes) => frame(bytes.toString("base64"), "base64")));
  } else {
    if (!list.some(([name]) => name === "content-type")) list.push(["content-type", "application/json; charset=utf-8"]);
    frame(jsonText(body, "the body of the response") ?? "", "utf8");
  }
  return Promise.resolve();
}

/** Answers a request for code whose only answers had a status that is refused. */
export function answerRefused(call: CallContext): void {
  if (typeof call.refusedStatus !== "string") return;
  const text = `The source called this.http.respond() with ${call.refusedStatus}; allowed are integers from 200 to 599`;
  call.send({ t: "respond", status: 500, headers: [["content-type", "text/plain; charset=utf-8"]], body: text, encoding: "utf8", immediate: false });
}

const FIELDS = ["status", "headers", "body", "immediate"];

/** The fields of an answer. A text, bytes, a stream or a body of the Fetch standard in its place is the body; a `Response` has the fields itself. */
function fieldsOf(response: unknown, call: CallContext): Bag {
  if (response === undefined || response === null) return {};
  const isBinary = ArrayBuffer.isView(response) || types.isAnyArrayBuffer(response);
  if (typeof response === "string" || isBinary || isStream(response) || (WEB_BODIES.has(tagOf(response)) && tagOf(response) !== "Response")) return { body: response };
  if (typeof response !== "object" || Array.isArray(response)) {
    throw new TypeError(`respond: the answer is ${kindOf(response)}; it must be an object of status, headers, body and immediate, or a body that is a string, a Buffer or a stream`);
  }
  const fields = response as Bag;
  const others = Object.keys(fields).filter((name) => !FIELDS.includes(name));
  if (fields["body"] === undefined && others.length > 0) {
    const named = jsonText(others.slice(0, 5).map((name) => name.slice(0, 80)), "their names");
    call.log("warn", `respond: the answer has no body; its fields ${named} are not looked at, those that are: ${FIELDS.join(", ")}`);
  }
  return fields;
}

const isThenable = (value: unknown): value is PromiseLike<unknown> => value !== null && typeof value === "object" && typeof (value as Bag)["then"] === "function";
const isStream = (value: unknown): value is AsyncIterable<unknown> => value instanceof Readable || (value !== null && typeof value === "object" && Symbol.asyncIterator in value);

/** The call is not over before the answer is on its way. */
function tracked(call: CallContext, sent: Promise<void>): Promise<void> {
  call.track(sent);
  return sent;
}

/** Bodies of the Fetch standard, by their tags: to name their classes would load them in each process. */
const WEB_BODIES = new Set(["Blob", "File", "FormData", "URLSearchParams", "Response", "Request"]);

function tagOf(value: unknown): string {
  return value !== null && typeof value === "object" ? Object.prototype.toString.call(value).slice(8, -1) : "";
}

/** Such a body as bytes; its media type goes with it, where the author names none. */
async function webBody(body: unknown, list: [string, string][]): Promise<Buffer> {
  const carrier = ["Response", "Request"].includes(tagOf(body)) ? (body as Response) : new Response(body as Blob);
  const bytes = Buffer.from(await carrier.arrayBuffer());
  const type = carrier.headers.get("content-type");
  if (type !== null && !list.some(([name]) => name === "content-type")) list.push(["content-type", type]);
  return bytes;
}

/** What HTTP sends (RFC 9110, 5): the server leaves out what is otherwise. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const NOT_IN_VALUES = /[\0-\x08\x0a-\x1f\x7f]/;

// Both are checked again by the server (model/http.rs): here the author's line is on the stack.
const HEADER_LINES_MAX = 256;
const HEADER_BYTES_MAX = 64 << 10;

export function checkHeaders(where: string, list: [string, string][]): void {
  const bytes = list.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (list.length <= HEADER_LINES_MAX && bytes <= HEADER_BYTES_MAX) return;
  throw new RangeError(`${where}: there are ${list.length} header lines with ${bytes} bytes in all, allowed are ${HEADER_LINES_MAX} lines and ${HEADER_BYTES_MAX} bytes`);
}

/** Headers of which a message has one value (RFC 9110): of several the last is sent, as by Node's `setHeader`. */
const SINGLE = new Set(
  "access-control-allow-credentials access-control-allow-origin access-control-max-age age authorization content-disposition content-length content-location content-range content-type date etag expires from host if-modified-since if-unmodified-since last-modified location max-forwards origin referer retry-after server user-agent x-content-type-options x-frame-options".split(" "),
);

/** Header lines in whatever form their names and values are given. */
export function headerList(where: string, headers: unknown): [string, string][] {
  if (headers === undefined || headers === null) return [];
  const byName = new Map<string, string[]>();
  const isRecord = typeof headers === "object" && !(Symbol.iterator in headers);
  for (const [given, value] of headerPairs(where, headers)) {
    if (value === undefined || value === null) continue;
    const name = given.toLowerCase();
    const values = Array.isArray(value) ? value.map(String) : [String(value)];
    const before = byName.get(name);
    // `{ ...defaults, "Content-Type": … }`: of a name in two cases the last is meant.
    if (before === undefined || isRecord || SINGLE.has(name)) byName.set(name, SINGLE.has(name) ? values.slice(-1) : values);
    else before.push(...values);
  }
  return [...byName].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
}

/** Of an object, of the Fetch standard, a map or a list of pairs, or of a flat list as Node's `rawHeaders`. */
function headerPairs(where: string, headers: unknown): [string, unknown][] {
  if (typeof headers === "object" && headers !== null) {
    if (!(Symbol.iterator in headers)) return Object.entries(headers);
    const items = [...(headers as Iterable<unknown>)];
    if (items.every((item) => Array.isArray(item) && item.length === 2 && typeof item[0] === "string")) return items as [string, unknown][];
    const pairs = items.flatMap((item, at): [unknown, unknown][] => (at % 2 === 0 ? [[item, items[at + 1]]] : []));
    if (items.length % 2 === 0 && pairs.every(([name, value]) => typeof name === "string" && (typeof value !== "object" || value === null || Array.isArray(value)))) return pairs as [string, unknown][];
  }
  const kind = typeof headers === "object" ? "a list of something else" : `a ${typeof headers}`;
  throw new TypeError(`${where}: the headers are ${kind}; allowed are an object, a \`Headers\`, a \`Map\`, a list of \`[name, value]\` and a flat list of names and values`);
}

async function collect(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    if (typeof chunk === "string") chunks.push(Buffer.from(chunk));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    else throw new TypeError(`respond: a chunk of the stream is ${kindOf(chunk)}; it must be a string or a Buffer`);
  }
  return Buffer.concat(chunks);
}
