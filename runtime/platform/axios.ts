// `axios(step, config)`: gives the response's data, tidies the request, and rewrites errors so that they show the
// answer of the third party. Behaviour as components expect it; the stack is kept.
import axiosLibrary, { type AxiosInstance, type AxiosRequestConfig, type AxiosResponse } from "axios";

import { ConfigurationError } from "./errors.ts";
import { cloneSafe } from "./json.ts";
import { sign, type SignConfig } from "./oauth.ts";

/** A step's `$`, or in sources the component or the app itself. */
export interface Step {
  export?: (key: string, value: unknown) => void;
  context?: unknown;
  [key: string]: unknown;
}

export interface Config extends AxiosRequestConfig {
  debug?: boolean;
  body?: unknown;
  returnFullResponse?: boolean;
}

/** Of plain objects only: the members of a form or a stream are its own business. */
function dropUndefined(values: unknown): void {
  if (values === null || typeof values !== "object") return;
  const prototype: unknown = Object.getPrototypeOf(values);
  if (prototype !== Object.prototype && prototype !== null) return;
  const record = values as Record<string, unknown>;
  for (const key of Object.keys(record)) if (record[key] === undefined) delete record[key];
}

/** The query in the address moves into `params`; explicit params win. */
function moveQuery(config: Config): void {
  if ((config.url as unknown) instanceof URL) config.url = String(config.url);
  if (typeof config.url !== "string" || !config.url.includes("?")) return;
  const [whole = "", hash] = config.url.split(/#(.*)/s);
  const [address = "", query = ""] = whole.split(/\?(.*)/s);
  const params: unknown = config.params;
  const explicit = new Set(params instanceof URLSearchParams ? params.keys() : Object.keys((params as object | undefined) ?? {}));
  const { moved, stays } = sorted(query, explicit);
  config.url = `${address}${stays.length === 0 ? "" : `?${stays.join("&")}`}${hash === undefined ? "" : `#${hash}`}`;
  if (params instanceof URLSearchParams) {
    config.params = new URLSearchParams([...Object.entries(moved).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one])), ...params]);
  } else config.params = { ...moved, ...(params as object | undefined) };
}

/** The pairs of a query that become params, and those that stay in the address as they are written. */
function sorted(query: string, explicit: Set<string>): { moved: Record<string, string | string[]>; stays: string[] } {
  const found = new Map<string, { values: string[]; pairs: string[] }>();
  const stays: string[] = [];
  for (const pair of query.split("&").filter((text) => text !== "")) {
    const [rawName = "", rawValue = ""] = pair.split(/=(.*)/s);
    const [name, value] = [unescaped(rawName), unescaped(rawValue)];
    if (name === undefined || value === undefined) {
      if (!explicit.has(name ?? rawName)) stays.push(pair);
      continue;
    }
    if (explicit.has(name)) continue;
    const known = found.get(name) ?? { values: [], pairs: [] };
    known.values.push(value);
    known.pairs.push(pair);
    found.set(name, known);
  }
  const moved: [string, string | string[]][] = [];
  for (const [name, { values, pairs }] of found) {
    // A list among the params is sent under `name[]`: a name that was repeated without it stays where it was.
    if (values.length > 1 && !name.endsWith("[]")) stays.push(...pairs);
    else moved.push([name, values.length > 1 ? values : (values[0] ?? "")]);
  }
  return { moved: Object.fromEntries(moved), stays };
}

/** Text without its escapes, or nothing where they are not UTF-8. A `+` is a plus, not a space of a form. */
function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function put(step: Step | undefined, key: string, value: unknown): void {
  if (step === null || step === undefined) return;
  const copy = cloneSafe(value);
  if (typeof step.export === "function") step.export(key, copy);
  // Where nothing can be written to it there is nothing to show; the request goes on.
  else Reflect.set(step, key, copy);
}

function prepare(config: Config): void {
  dropUndefined(config.headers);
  dropUndefined(config.params);
  dropUndefined(config.data);
  if (config.body != null) throw new ConfigurationError("unexpected body, use only data instead");
  moveQuery(config);
}

function shown(response: AxiosResponse): Record<string, unknown> {
  return { status: response.status, statusText: response.statusText, headers: response.headers, data: response.data as unknown };
}

function rewrite(error: unknown, step: Step | undefined): never {
  const failed = error as { response?: AxiosResponse & { request?: unknown; config?: unknown }; name: string; message: string; config?: unknown; request?: unknown };
  if (failed?.response) {
    failed.name = `${failed.name} - ${failed.message}`;
    try {
      failed.message = JSON.stringify(failed.response.data) ?? failed.message;
    } catch {
      failed.message = `status ${failed.response.status}, with a body that is not JSON`;
    }
    delete failed.config;
    delete failed.request;
    delete (failed.response as Partial<AxiosResponse>).request;
    delete (failed.response as Partial<AxiosResponse>).config;
    if (step?.context) put(step, "debug", shown(failed.response));
  }
  throw error;
}

async function axios(step: Step | undefined, config: Config, signConfig?: SignConfig): Promise<unknown> {
  prepare(config);
  await sign(config, signConfig);
  if (config.debug) put(step, "debug_config", config);
  try {
    const response = await axiosLibrary(config);
    if (config.debug) put(step, "debug_response", response.data);
    return config.returnFullResponse ? response : response.data;
  } catch (error) {
    return rewrite(error, step);
  }
}

/** An axios instance with the same manners. */
axios.create = (config?: Config, signConfig?: SignConfig): AxiosInstance => {
  const instance = axiosLibrary.create(config);
  instance.interceptors.request.use(async (request) => {
    prepare(request as Config);
    await sign(request, signConfig);
    return request;
  });
  instance.interceptors.response.use(
    (response) => ((response.config as Config).returnFullResponse ? response : (response.data as AxiosResponse)),
    (error: unknown) => rewrite(error, undefined),
  );
  return instance;
};

export { axios };
