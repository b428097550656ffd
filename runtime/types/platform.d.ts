// Types of `@pipedream/platform` as Millrace answers to it. Point that name here.
import type { AxiosInstance, AxiosRequestConfig, AxiosResponse } from "axios";
import type { Readable } from "node:stream";

export interface Config extends AxiosRequestConfig {
  /** Exports `debug_config` and `debug_response`. */
  debug?: boolean;
  returnFullResponse?: boolean;
}
export interface SignConfig {
  oauthSignerUri: string;
  token: unknown;
}
export const axios: {
  /** `step`: `$`, or in a source `this`. */
  (step: unknown, config: Config & { returnFullResponse: true }, signConfig?: SignConfig): Promise<AxiosResponse>;
  (step: unknown, config: Config, signConfig?: SignConfig): Promise<any>;
  create(config?: Config, signConfig?: SignConfig): AxiosInstance;
};
export function transformConfigForOauth(config: AxiosRequestConfig): { method: string; url: string; data?: unknown };

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

export function cloneSafe<T>(value: T): T;
export function jsonStringifySafe(value: unknown, replacer?: ((key: string, value: unknown) => unknown) | (string | number)[] | null, space?: string | number): string | undefined;
export function $end(message?: string): never;

export const sqlProp: { methods: { executeQueryAdapter(...args: any[]): any; getSchema(...args: any[]): any } };
export const sqlProxy: { methods: { getClientConfiguration(...args: any[]): any; executeQuery(...args: any[]): any; proxyAdapter(...args: any[]): any } };

export const DEFAULT_POLLING_SOURCE_TIMER_INTERVAL: number;
export const PD_OFFICIAL_GMAIL_OAUTH_CLIENT_ID: string;
export const END_NEEDLE: string;
export const HTTP_METHODS: readonly string[];

export interface SendConfig {
  readonly name: string;
  is(value: unknown): boolean;
  decode(value: unknown): { _tag: "Right"; right: unknown } | { _tag: "Left"; left: unknown[] };
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
export const sendTypeMap: Record<string, SendConfig>;
export const $sendConfigRuntimeTypeChecker: Record<string, (config: unknown) => void>;
