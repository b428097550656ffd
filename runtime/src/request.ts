// The `http_request` prop: a configured request that code executes.
import { JSON } from "./kept.ts";
import type { Bag } from "./types.ts";

/** Characters of a failed request's answer that its error shows. */
const SHOWN_MAX = 4096;

interface Pair {
  name?: string;
  value?: unknown;
  disabled?: boolean;
}

const pairs = (list: unknown): Pair[] => (Array.isArray(list) ? (list as Pair[]).filter((p) => p?.name && !p.disabled) : []);

/** An answer of the form that axios gives; like there, a status of 400 or more is an error that carries it. */
export async function executeRequest(config: unknown): Promise<unknown> {
  const { method = "GET", url, params, headers, auth, body } = (config ?? {}) as Bag;
  if (typeof url !== "string" || !URL.canParse(url)) throw new TypeError(`http_request: \`${String(url)}\` is no address`);
  const target = new URL(url);
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
  const answer = { status: response.status, statusText: response.statusText, headers: Object.fromEntries(response.headers), data };
  if (response.status < 400) return answer;
  const error = new Error(`Request failed with status code ${response.status}${text === "" ? "" : `: ${text.slice(0, SHOWN_MAX)}`}`);
  throw Object.assign(error, { name: "HttpRequestError", response: answer });
}

function bodyOf(body: unknown, headers: Headers): string | FormData | undefined {
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
  if (contentType === "multipart/form-data") {
    // The boundary is fetch's to choose: it sets the header.
    const form = new FormData();
    for (const { name, value } of list) form.append(String(name), String(value));
    return form;
  }
  headers.set("content-type", "application/json");
  return JSON.stringify(Object.fromEntries(list.map((f) => [f.name, f.value])));
}
