// Types of `@pipedream/platform` as Millrace answers to it. Point that name here.
import type { AxiosInstance, AxiosRequestConfig as OfAxios } from "axios";
import type { Readable } from "node:stream";

import type * as OfSend from "./index";

/** Members of a request, loosely, for where the package axios is not installed. */
interface WithoutAxios {
  url?: string;
  method?: string;
  baseURL?: string;
  allowAbsoluteUrls?: boolean;
  headers?: Record<string, any>;
  params?: any;
  paramsSerializer?: any;
  data?: any;
  auth?: { username: string; password: string };
  timeout?: number;
  timeoutErrorMessage?: string;
  signal?: any;
  cancelToken?: any;
  responseType?: string;
  responseEncoding?: string;
  validateStatus?: ((status: number) => boolean) | null;
  transformRequest?: any;
  transformResponse?: any;
  maxContentLength?: number;
  maxBodyLength?: number;
  maxRedirects?: number;
  maxRate?: any;
  beforeRedirect?: (...details: any[]) => void;
  onUploadProgress?: (progress: any) => void;
  onDownloadProgress?: (progress: any) => void;
  adapter?: any;
  httpAgent?: any;
  httpsAgent?: any;
  transport?: any;
  proxy?: any;
  socketPath?: string | null;
  allowedSocketPaths?: string | string[] | null;
  decompress?: boolean;
  insecureHTTPParser?: boolean;
  family?: any;
  lookup?: any;
  env?: any;
  formSerializer?: any;
  parseReviver?: any;
  transitional?: any;
  withCredentials?: boolean;
  withXSRFToken?: any;
  xsrfCookieName?: string;
  xsrfHeaderName?: string;
  fetchOptions?: any;
  httpVersion?: any;
  http2Options?: any;
  formDataHeaderPolicy?: string;
  redact?: string[];
  sensitiveHeaders?: string[];
}
/** An import that is not found is `any`: extending it gives an interface without members. */
type BaseConfig = string extends keyof OfAxios ? WithoutAxios : OfAxios;

export interface AxiosRequestConfig extends BaseConfig {
  /** Exports `debug_config` and `debug_response`. */
  debug?: boolean;
  /** Gives the response instead of its data. */
  returnFullResponse?: boolean;
  /** Refused when it runs: the name is `data`. */
  body?: any;
}
export interface SignConfig {
  oauthSignerUri: string;
  token: unknown;
}
export const axios: {
  /** `step`: `$`, or in a source `this`. */
  (step: unknown, config: AxiosRequestConfig, signConfig?: SignConfig): Promise<any>;
  create(config?: AxiosRequestConfig, signConfig?: SignConfig): AxiosInstance;
};
export function transformConfigForOauth(config: AxiosRequestConfig): { method: string; url: string; data?: any };

/** Tells the user what to configure differently. */
export class ConfigurationError extends Error {
  constructor(message: string, exposeStack?: boolean);
  exposeStack: boolean;
}

export interface FileMetadata {
  size: number;
  contentType?: string;
  lastModified?: Date;
  name?: string;
  etag?: string;
}
export function getFileStream(pathOrUrl: string | URL): Promise<Readable>;
export function getFileStreamAndMetadata(pathOrUrl: string | URL): Promise<{ stream: Readable; metadata: FileMetadata }>;

export function cloneSafe(value: unknown): any;
export function jsonStringifySafe(value: unknown, replacer?: ((key: string, value: unknown) => unknown) | (string | number)[] | Set<unknown> | null, space?: string | number): string | undefined;
export function $end(message?: string): never;

export const sqlProp: { methods: { executeQueryAdapter(...args: any[]): any; getSchema(...args: any[]): any } };
export const sqlProxy: { methods: { getClientConfiguration(...args: any[]): any; executeQuery(...args: any[]): any; proxyAdapter(...args: any[]): any } };

export const DEFAULT_POLLING_SOURCE_TIMER_INTERVAL: number;
export const PD_OFFICIAL_GMAIL_OAUTH_CLIENT_ID: string;
export const END_NEEDLE: string;
export const HTTP_METHODS: string[];

/** Checks what one of `$.send` is given. */
export interface SendConfig {
  readonly name: string;
  is(value: unknown): boolean;
  decode(value: unknown): any;
  validate(value: unknown, context?: unknown): any;
  encode(value: any): any;
}
export const SendConfigEmail: SendConfig;
export const SendConfigEmit: SendConfig;
export const SendConfigEmit_optional: SendConfig;
export const SendConfigEmit_required: SendConfig;
export const SendConfigHTTP: SendConfig;
export const SendConfigS3: SendConfig;
export const SendConfigSQL: SendConfig;
export const SendConfigSSE: SendConfig;
export const SendConfigSnowflake: SendConfig;
export const sendTypeMap: Record<"email" | "emit" | "http" | "s3" | "sql" | "snowflake" | "sse", SendConfig>;
export const $sendConfigRuntimeTypeChecker: Record<string, (config: unknown) => void>;

export type SendConfigEmail = OfSend.SendConfigEmail;
export type SendConfigEmit = { raw_event: object; event?: object };
export type SendConfigHTTP = OfSend.SendConfigHTTP;
export type SendConfigS3 = OfSend.SendConfigS3;
export type SendConfigSQL = { table: string; payload: string | object };
export type SendConfigSSE = OfSend.SendConfigSSE;
export type SendConfigSnowflake = Record<"account" | "database" | "host" | "pipe_name" | "private_key" | "schema" | "stage_name" | "user", string> & { payload: string | object };

/** Undefined; in a step these are `steps.trigger.event` and `$.send`. */
export let $event: any;
export let $send: any;

/** What a `sql` prop completes with: the tables that `getSchema` of an app gives. */
export type DbInfo = { [table: string]: TableInfo };
export type TableInfo = { metadata: TableMetadata; schema: TableSchema };
export type TableMetadata = { rowCount?: number };
export type TableSchema = { [column: string]: ColumnSchema };
export type ColumnSchema = { columnDefault: any; dataType: string; isNullable: boolean; tableSchema?: string };
