// OAuth 1: a service signs the request, so it needs what the signature covers (RFC 5849, 3.4.1).
import axiosLibrary, { type AxiosRequestConfig } from "axios";

export interface SignConfig {
  oauthSignerUri: string;
  token: unknown;
}

export interface RequestData {
  method: string;
  url: string;
  data?: unknown;
}

/** Percent-encoding of the RFC's section 3.6: the signer and the request must spell the query alike. */
const encoded = (text: string) => encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

function pairs(params: unknown): [string, string][] {
  if (params === null || typeof params !== "object") return [];
  if (params instanceof URLSearchParams) return [...params];
  return Object.entries(params).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null)
      .map((one: unknown): [string, string] => [name, typeof one === "object" ? JSON.stringify(one) : String(one)]),
  );
}

function contentType(headers: unknown): string {
  if (headers === null || typeof headers !== "object") return "";
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type");
  return String(found?.[1] ?? "").toLowerCase();
}

/** What a signer is sent: the address with its whole query, and the body only where it is a form, as the RFC has it. */
export function transformConfigForOauth(config: AxiosRequestConfig): RequestData {
  const address = axiosLibrary.getUri({ baseURL: config.baseURL, url: config.url });
  const [path = "", query = ""] = (address.split("#")[0] ?? "").split(/\?(.*)/s);
  const all = [...new URLSearchParams(query), ...pairs(config.params)];
  const url = all.length === 0 ? path : `${path}?${all.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&")}`;
  const form = contentType(config.headers).includes("application/x-www-form-urlencoded");
  return { method: config.method ?? "get", url, ...(form && config.data !== undefined ? { data: config.data as unknown } : {}) };
}

/** Asks the signer, and makes the request exactly the one that it signed. */
export async function sign(config: AxiosRequestConfig, signConfig: SignConfig | undefined): Promise<void> {
  if (!signConfig) return;
  const requestData = transformConfigForOauth(config);
  const { data } = await axiosLibrary.post<string>(signConfig.oauthSignerUri, { requestData, token: signConfig.token });
  config.headers = Object.assign(config.headers ?? {}, { Authorization: data });
  config.url = requestData.url;
  delete config.params;
}
