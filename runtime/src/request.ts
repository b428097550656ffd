// The `http_request` prop: a configured request that code executes.
import type { Bag } from "./types.ts";

interface Pair {
  name?: string;
  value?: unknown;
  disabled?: boolean;
}

const pairs = (list: unknown): Pair[] => (Array.isArray(list) ? (list as Pair[]).filter((p) => p?.name && !p.disabled) : []);

/** An answer of the form that axios gives. */
export async function executeRequest(config: unknown): Promise<unknown> {
  const { method = "GET", url, params, headers, auth, body } = (config ?? {}) as Bag;
  const target = new URL(String(url));
  for (const { name, value } of pairs(params)) target.searchParams.append(String(name), String(value));
  const sent = new Headers();
  for (const { name, value } of pairs(headers)) sent.append(String(name), String(value));
  const a = (auth ?? {}) as Bag;
  if (a["type"] === "basic") sent.set("authorization", `Basic ${Buffer.from(`${String(a["username"])}:${String(a["password"])}`).toString("base64")}`);
  if (a["type"] === "bearer") sent.set("authorization", `Bearer ${String(a["token"])}`);
  const response = await fetch(target, { method: String(method), headers: sent, body: bodyOf(body, sent) });
  const text = await response.text();
  let data: unknown = text;
  try {
    data = JSON.parse(text);
  } catch {
    // Text stays text.
  }
  return { status: response.status, statusText: response.statusText, headers: Object.fromEntries(response.headers), data };
}

function bodyOf(body: unknown, headers: Headers): string | undefined {
  const { type, mode, contentType, fields, raw } = (body ?? {}) as Bag;
  const kind = type ?? mode;
  if (kind === "raw" || (kind === undefined && typeof raw === "string")) {
    if (typeof contentType === "string") headers.set("content-type", contentType);
    return typeof raw === "string" ? raw : undefined;
  }
  const list = pairs(fields);
  if (list.length === 0) return undefined;
  if (contentType === "application/x-www-form-urlencoded") {
    headers.set("content-type", contentType);
    return new URLSearchParams(list.map((f) => [String(f.name), String(f.value)])).toString();
  }
  headers.set("content-type", "application/json");
  return JSON.stringify(Object.fromEntries(list.map((f) => [f.name, f.value])));
}
