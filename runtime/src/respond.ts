// HTTP answers: of a source (`this.http.respond`) and of a workflow (`$.respond`).
import { Readable } from "node:stream";

import type { CallContext } from "./context.ts";
import { jsonText } from "./errors.ts";
import type { Bag } from "./types.ts";

export function httpInterface(endpoint: string, call: CallContext): object {
  const self = {
    endpoint,
    respond: (response: unknown) => respond(response, call),
  };
  return self;
}

/** Sends the answer before it returns, unless the body is a stream. */
export function respond(response: unknown, call: CallContext): Promise<void> {
  const { status, headers, body, immediate } = (response ?? {}) as Bag;
  const code = Number(status ?? 200);
  if (!Number.isInteger(code) || code < 100 || code > 599) {
    throw new RangeError(`respond: the status ${String(status)} is not an integer from 100 to 599`);
  }
  const list = headerList(headers);
  const frame = (text: string, encoding: string) => call.send({ t: "respond", status: code, headers: list, body: text, encoding, immediate: immediate === true });
  if (body instanceof Readable || (body !== null && typeof body === "object" && Symbol.asyncIterator in body)) {
    if (immediate === true) throw new TypeError("respond: a stream cannot be sent with `immediate: true`");
    const sent = collect(body as AsyncIterable<unknown>).then((bytes) => frame(bytes.toString("base64"), "base64"));
    call.track(sent);
    return sent;
  }
  if (body === undefined || body === null) frame("", "utf8");
  else if (typeof body === "string") frame(body, "utf8");
  else if (body instanceof Uint8Array || body instanceof ArrayBuffer) frame(Buffer.from(body as Uint8Array).toString("base64"), "base64");
  else {
    if (!list.some(([name]) => name === "content-type")) list.push(["content-type", "application/json; charset=utf-8"]);
    frame(jsonText(body, "the body of the response") ?? "", "utf8");
  }
  return Promise.resolve();
}

function headerList(headers: unknown): [string, string][] {
  if (headers === null || typeof headers !== "object") return [];
  const list: [string, string][] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) list.push([name.toLowerCase(), String(one)]);
  }
  return list;
}

async function collect(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}
