// `axios(step, config)`: gives the response's data, tidies the request, and rewrites errors so that they show the
// answer of the third party. Behaviour as components expect it; the stack is kept.
import axiosLibrary, { type AxiosInstance, type AxiosRequestConfig, type AxiosResponse } from "axios";

import { ConfigurationError } from "./errors.ts";

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

export interface SignConfig {
  oauthSignerUri: string;
  token: unknown;
}

function dropUndefined(values: unknown): void {
  if (values === null || typeof values !== "object" || values.constructor !== Object) return;
  const record = values as Record<string, unknown>;
  for (const key of Object.keys(record)) if (record[key] === undefined) delete record[key];
}

/** The query in the address moves into `params`; explicit params win. */
function moveQuery(config: Config): void {
  if (!config.url || !config.url.includes("?")) return;
  const [address = "", rest = ""] = config.url.split(/\?(.*)/s);
  const [query = "", hash] = rest.split("#");
  const found: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    found[name] = name in found ? [found[name], value].flat() : value;
  }
  config.url = hash === undefined ? address : `${address}#${hash}`;
  config.params = { ...found, ...(config.params as object | undefined) };
}

function put(step: Step | undefined, key: string, value: unknown): void {
  if (!step) return;
  if (typeof step.export === "function") step.export(key, value);
  else step[key] = value;
}

function prepare(config: Config): void {
  dropUndefined(config.headers);
  dropUndefined(config.params);
  dropUndefined(config.data);
  if (config.body != null) throw new ConfigurationError("unexpected body, use only data instead");
  moveQuery(config);
}

async function sign(config: Config, signConfig: SignConfig | undefined): Promise<void> {
  if (!signConfig) return;
  const { oauthSignerUri, token } = signConfig;
  const requestData = { method: config.method ?? "get", url: config.url, data: config.data, params: config.params };
  const answer = await axiosLibrary.post<string>(oauthSignerUri, { requestData, token });
  config.headers = { ...config.headers, Authorization: answer.data };
}

function shown(response: AxiosResponse): Record<string, unknown> {
  return { status: response.status, statusText: response.statusText, headers: response.headers, data: response.data as unknown };
}

function rewrite(error: unknown, step: Step | undefined): never {
  const failed = error as { response?: AxiosResponse & { request?: unknown; config?: unknown }; name: string; message: string; config?: unknown; request?: unknown };
  if (failed.response) {
    failed.name = `${failed.name} - ${failed.message}`;
    try {
      failed.message = JSON.stringify(failed.response.data);
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
  if (config.debug) put(step, "debug_config", { ...config });
  try {
    const response = await axiosLibrary(config);
    if (config.debug) put(step, "debug_response", shown(response));
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
    await sign(request as Config, signConfig);
    return request;
  });
  instance.interceptors.response.use(
    (response) => ((response.config as Config).returnFullResponse ? response : (response.data as AxiosResponse)),
    (error: unknown) => rewrite(error, undefined),
  );
  return instance;
};

export { axios };
