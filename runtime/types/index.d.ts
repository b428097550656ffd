// Types of components, so that an editor completes `this`, `$` and props. Point `@pipedream/types` here (README.md).

import type { Readable } from "node:stream";

import type { $ as Dollar, DataStore, Emit, FileDir, HttpInterface, HttpRequest, ServiceDb, Sql, Steps, StoredFile } from "./runtime";

export type * from "./runtime";

/** Stands for a value of which nothing better is known. */
type Loose = any;

export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

/** One choice of a drop-down. */
export type Option = string | number | boolean | { readonly label: string; readonly value: unknown };
export type PropOptions = Loose[];

/** What an async options method is given; `inputValues` come beside these. */
export interface OptionsMethodArgs {
  /** Counts from 0. */
  page?: number;
  /** The `context` of the answer before; empty on the first page. */
  prevContext?: Loose;
  /** What the user typed, with `useQuery`. */
  query?: Loose;
  [input: string]: Loose;
}

/** A list of `Option`, or `{ options, context }`. Not narrower, as what services answer is often untyped or typed wider. */
export type OptionsResult = Loose;

/** What code reads of props that stand for a service of the platform. The value of any other prop is `any`: it is what a user configured. */
interface Services {
  dir: FileDir;
  sql: Sql;
  data_store: DataStore;
  http_request: HttpRequest;
  "$.service.db": ServiceDb;
  "$.interface.http": HttpInterface;
}

/** The types that the platform knows; others are kept, and shown as text input. */
export type PropType =
  | keyof Services
  | "string"
  | "integer"
  | "number"
  | "boolean"
  | "object"
  | "any"
  | "string[]"
  | "integer[]"
  | "number[]"
  | "boolean[]"
  | "object[]"
  | "any[]"
  | "app[]"
  | "alert"
  | "$.interface.timer"
  | "$.interface.apphook"
  | (string & {});

export interface BasePropInterface {
  label?: string;
  /** Markdown. */
  description?: string;
}

/** Fields of a prop; each type reads some of them. */
export interface PropFields extends BasePropInterface {
  optional?: boolean;
  /** JSON, or a function that gives it. */
  default?: Loose;
  /** Kept encrypted; strings only. */
  secret?: boolean;
  min?: number;
  max?: number;
  /** A value makes the platform ask `additionalProps`. */
  reloadProps?: boolean;
  hidden?: boolean;
  disabled?: boolean;
  /** The value is then `{label, value}`. */
  withLabel?: boolean;
  /** The options method is then given `query`. */
  useQuery?: boolean;
  /** Names of the props that the options need; else those that the function of `propDefinition` reads. */
  dependsOn?: readonly string[];
  format?: "file-ref" | (string & {});
  /** `this` is the app, or the component: inferring which from inside of it would make the types circular, so it is `any`. */
  options?: readonly Option[] | ((this: Loose, input: Loose) => OptionsResult | Promise<OptionsResult>);
  /** Of `$.interface.http`: `run` answers itself, with `respond`. */
  customResponse?: boolean;
  /** Of `$.interface.timer`: the user may not change it. */
  static?: DefaultConfig;
  appProp?: string;
  eventNames?: readonly string[] | ((this: Loose) => readonly string[] | Promise<readonly string[]>);
  /** Of `alert`. */
  alertType?: "info" | "neutral" | "warning" | "error";
  content?: string;
  accessMode?: "read" | "write" | "read-write";
  sync?: boolean;
  auth?: { app: string };
  /** Of `app[]`: the slug of the accounts' app. */
  app?: string;
}

export interface DefaultConfig {
  intervalSeconds?: number;
  cron?: string;
  /** Of `cron`; UTC where it is absent. */
  timezone?: string;
}

export interface TypedProp extends PropFields {
  type: PropType;
}

/** What feeds the options of a prop that an app defines. */
export type OptionalOptsFn = (configuredProps: { [name: string]: Loose }) => object;
/** The app, the prop's name there, and what feeds its options. */
export type PropDefinition = [app: Loose, name: string, inputValues?: OptionalOptsFn | { [name: string]: Loose }];

export interface PropDefinitionReference {
  propDefinition: Readonly<PropDefinition>;
}

/** A prop that an app defines; fields beside the reference replace the app's. */
export interface ReferringProp extends PropFields {
  type?: PropType;
  propDefinition: Readonly<PropDefinition>;
}

export interface AnyApp {
  type: "app";
  app: string;
  propDefinitions?: Loose;
  methods?: Loose;
}

export type Prop = PropType | TypedProp | ReferringProp | AnyApp;
export type Props = { [name: string]: Prop };
export type Methods = { [name: string]: (...args: Loose) => unknown };

export type SourcePropDefinitions = Props;
export type ActionPropDefinitions = Props;
export type AppPropDefinitions = Props;

export interface UserProp extends PropFields {
  type: "boolean" | "boolean[]" | "integer" | "integer[]" | "string" | "string[]" | "object" | "any";
}
export interface InterfaceProp extends PropFields {
  type: "$.interface.http" | "$.interface.timer";
  default?: string | DefaultConfig;
}
export interface ServiceDBProp extends BasePropInterface {
  type: "$.service.db";
}
export interface DataStoreProp extends BasePropInterface {
  type: "data_store";
}
export interface HttpRequestProp extends BasePropInterface {
  type: "http_request";
  default?: DefaultHttpRequestPropConfig;
}

/** A header, a parameter or a form field of an `http_request` prop. */
export interface Field {
  name: string;
  value: string;
}
export interface HttpAuth {
  type?: "basic" | "bearer" | "none";
  username?: string;
  password?: string;
  token?: string;
}
export interface HttpBody {
  type?: "fields" | "raw";
  mode?: "fields" | "raw";
  contentType?: string;
  fields?: Field[];
  raw?: string;
}
export interface DefaultHttpRequestPropConfig {
  method?: string;
  url?: string;
  params?: Field[];
  headers?: Field[];
  auth?: HttpAuth;
  body?: HttpBody;
  tab?: string;
}

/** An app as `this.<prop>`: the names of its methods, and the credentials of the chosen account. A method takes and gives `any`: what it is declared to give is often narrower than what is read of it. */
export type AppInstance<A> = A & (A extends { methods?: infer M } ? { [Name in keyof NonNullable<M>]: Loose } : {}) & { $auth: Loose; [name: string]: Loose };

/** What code reads of a prop. */
export type PropValue<P> = P extends { type: "app" } ? AppInstance<P> : P extends keyof Services ? Services[P] : P extends { type: infer T } ? (T extends keyof Services ? Services[T] : Loose) : Loose;
/** The configured values. */
export type PropValues<P> = { [Name in keyof P]: PropValue<P[Name]> };

export type SourceThis<M, P> = PropValues<P> & M & { $emit: Emit };
export type ActionThis<M, P> = PropValues<P> & M;

interface Described {
  name?: string;
  /** `app_name_slug-slugified-component-name`. */
  key?: string;
  version: string;
  description?: string;
}

export interface Hooks {
  /** Once, when the source is deployed. */
  deploy?(): unknown;
  activate?(): unknown;
  deactivate?(): unknown;
}

interface SourceParts<M, P> extends Described {
  type?: "source";
  /** Which of the emitted events are dropped: each event needs an id then. */
  dedupe?: "unique" | "greatest" | "last";
  methods?: M & ThisType<SourceThis<M, P>>;
  hooks?: Hooks & ThisType<SourceThis<M, P>>;
  additionalProps?(previousPropDefs: Loose): Loose;
  /** Without one, the source emits its event. */
  run?(event: Loose): unknown;
  sampleEmit?: unknown;
}

interface ActionParts<M, P> extends Described {
  type: "action";
  methods?: M & ThisType<ActionThis<M, P>>;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  additionalProps?(previousPropDefs: Loose): Loose;
  run(input: ActionRunOptions): unknown;
}

interface AppParts<M> {
  type: "app";
  /** Slug of the app. */
  app: string;
  methods?: M & ThisType<M & { $auth: Loose }>;
}

export interface Source<M = {}, P = {}> extends SourceParts<M, P> {
  props?: P;
}
export type DedupedSource<M = {}, P = {}> = Source<M, P>;
export type NonDedupedSource<M = {}, P = {}> = Source<M, P>;
export interface Action<M = {}, P = {}> extends ActionParts<M, P> {
  props?: P;
}
/** A step's own code: an action that needs no name. */
export type Step<M = {}, P = {}> = Omit<Action<M, P>, "version" | "type"> & Partial<Pick<Action<M, P>, "version" | "type">>;
export interface App<M = {}, D = {}> extends AppParts<M> {
  propDefinitions?: D;
}

/** Any props are taken, as their definitions are often put together by code; `Props` makes an editor complete them. */
type Taken<P> = { props?: P | Props };

export function defineSource<M = {}, P = {}>(source: SourceParts<M, P> & Taken<P> & ThisType<SourceThis<M, P>>): Source<M, P>;
export function defineAction<M = {}, P = {}>(action: ActionParts<M, P> & Taken<P> & ThisType<ActionThis<M, P>>): Action<M, P>;
export function defineComponent<M = {}, P = {}>(step: Omit<Step<M, P>, "props"> & Taken<P> & ThisType<ActionThis<M, P>>): Step<M, P>;
export function defineApp<M = {}, D = {}>(app: AppParts<M> & { propDefinitions?: D | Props }): { type: "app"; app: string; propDefinitions: D; methods: M };

export interface ActionRunOptions {
  $: Dollar;
  steps: Steps;
}
/** What `run` of a source is given with a `$.interface.http` prop. */
export interface SourceHttpRunOptions {
  method: string;
  path: string;
  query: { [name: string]: string };
  headers: { [name: string]: string };
  url?: string;
  client_ip?: string;
  bodyRaw?: string;
  body?: Loose;
}
/** What `run` of a source is given with a `$.interface.timer` prop; both times are seconds. */
export interface SourceTimerRunOptions {
  timestamp: number;
  interval_seconds: number;
}
export type SourceRunOptions = SourceHttpRunOptions | SourceTimerRunOptions;

export type Pipedream = Dollar;
export type FlowFunctions = Dollar["flow"];
export type SendFunctionsWrapper = Dollar["send"];
// What is handed to these may be wider; what is read of a value that an author declares is as the hosted platform has it.
export interface SendConfigHTTP {
  method?: UppercaseHTTPMethod;
  url: string;
  headers?: SendConfigHTTPKv;
  params?: SendConfigHTTPKv;
  auth?: SendConfigHTTPAuth;
  data?: SendPayload;
}
export type SendConfigEmail = Parameters<Dollar["send"]["email"]>[0];
export type SendConfigS3 = Parameters<Dollar["send"]["s3"]>[0];
export type SendConfigSSE = { channel: string; payload: SendPayload };
export type SendConfigEmit = { raw_event: SendPayload; event?: SendPayload; name?: string };
export type SendConfigHTTPKv = { [name: string]: string };
export type SendConfigHTTPAuth = { username: string; password: string };
export type SendPayload = Loose;
export type UppercaseHTTPMethod = "GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "CONNECT" | "OPTIONS" | "TRACE" | "PATCH";
export interface HTTPResponse {
  status: number;
  body: string | Buffer | Readable;
  immediate?: boolean;
}
export type IApi = FileDir;
export type IFile = StoredFile;
