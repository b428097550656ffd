// Types of components, so that an editor completes `this`, `$` and props. Point `@pipedream/types` here (README.md).

import type { $ as Dollar, Emit, FileDir, HttpInterface, HttpRequest, DataStore, ServiceDb, Sql, Steps, TimerInterface } from "./runtime";

export type * from "./runtime";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };
/** A value that an object or a union stands for; `any` where nothing better is known. */
type Loose = any;

/** One choice of a drop-down. */
export type Option = string | number | boolean | { readonly label: string; readonly value: unknown };

/** What an async options method is given; `inputValues` come beside these. */
export interface OptionsInput {
  /** Counts from 0. */
  page: number;
  /** The `context` of the answer before; empty on the first page. */
  prevContext: Record<string, Loose>;
  /** What the user typed, with `useQuery`. */
  query?: string;
  [input: string]: Loose;
}

export type OptionsResult = readonly Option[] | { options: readonly Option[]; context?: Record<string, unknown> } | undefined | void;

interface Values {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  object: Record<string, Loose>;
  any: Loose;
  dir: FileDir;
  sql: Sql;
  data_store: DataStore;
  http_request: HttpRequest;
  "$.service.db": ServiceDb;
  "$.interface.http": HttpInterface;
  "$.interface.timer": TimerInterface;
  "$.interface.apphook": Loose;
}

/** The types that the platform knows; others are kept, and shown as text input. */
export type PropType = keyof Values | "string[]" | "integer[]" | "number[]" | "boolean[]" | "object[]" | "any[]" | "app[]" | "alert" | (string & {});

/** Fields of a prop; each type reads some of them. */
export interface PropFields {
  readonly label?: string;
  /** Markdown. */
  readonly description?: string;
  readonly optional?: boolean;
  readonly default?: Json | (() => unknown);
  /** Kept encrypted; strings only. */
  readonly secret?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** A value makes the platform ask `additionalProps`. */
  readonly reloadProps?: boolean;
  readonly hidden?: boolean;
  readonly disabled?: boolean;
  /** The value is then `{label, value}`. */
  readonly withLabel?: boolean;
  /** The options method is then given `query`. */
  readonly useQuery?: boolean;
  readonly format?: "file-ref" | (string & {});
  /** `this` is the app, or the component: inferring which from inside of it would make the types circular, so it is `any`. */
  readonly options?: readonly Option[] | ((this: Loose, input: OptionsInput) => OptionsResult | Promise<OptionsResult>);
  /** Of `$.interface.http`: `run` answers itself, with `respond`. */
  readonly customResponse?: boolean;
  /** Of `$.interface.timer`: the user may not change it. */
  readonly static?: Timer;
  readonly appProp?: string;
  readonly eventNames?: readonly string[] | ((this: Loose) => readonly string[] | Promise<readonly string[]>);
  /** Of `alert`. */
  readonly alertType?: "info" | "neutral" | "warning" | "error";
  readonly content?: string;
  readonly accessMode?: "read" | "write" | "read-write";
  readonly sync?: boolean;
  readonly auth?: { readonly app: string };
  /** Of `app[]`: the slug of the accounts' app. */
  readonly app?: string;
}

export type Timer = { readonly intervalSeconds: number } | { readonly cron: string };

export interface TypedProp extends PropFields {
  readonly type: PropType;
}

/** A prop that an app defines: its app, its name there, and what feeds its options. */
export interface ReferringProp extends PropFields {
  readonly type?: PropType;
  readonly propDefinition: readonly [app: AnyApp, name: string, inputValues?: Record<string, unknown> | ((configured: Loose) => Record<string, unknown>)];
}

export type Prop = PropType | TypedProp | ReferringProp | AnyApp;
export type Props = { readonly [name: string]: Prop };
export type Methods = { [name: string]: Loose };

export interface AnyApp {
  readonly type: "app";
  readonly app: string;
  readonly propDefinitions?: Loose;
  readonly methods?: Loose;
}

/** An app as `this.<prop>`: its methods, and the credentials of the chosen account. */
export type AppInstance<A> = (A extends { readonly methods?: infer M } ? (M extends object ? M : {}) : {}) & { readonly $auth: Record<string, Loose> };

type ValueOf<T> = T extends keyof Values ? Values[T] : T extends `${infer Item}[]` ? (Item extends keyof Values ? Values[Item][] : Loose) : Loose;
type Labelled<P, V> = P extends { readonly withLabel: true } ? { label: string; value: V } : V;
type DefinitionOf<P> = P extends { readonly propDefinition: readonly [infer A, infer N, ...unknown[]] }
  ? A extends { readonly propDefinitions?: infer D }
    ? N extends keyof NonNullable<D>
      ? NonNullable<D>[N]
      : unknown
    : unknown
  : unknown;

/** What code reads of a prop. */
export type PropValue<P> = P extends { readonly type: "app" }
  ? AppInstance<P>
  : P extends { readonly type: "app[]" }
    ? AppInstance<P>[]
    : P extends { readonly type: infer T }
      ? Labelled<P, ValueOf<T>>
      : P extends { readonly propDefinition: unknown }
        ? Labelled<P & DefinitionOf<P>, PropValue<DefinitionOf<P>>>
        : P extends string
          ? ValueOf<P>
          : Loose;

type IsOptional<P> = P extends { readonly optional: true } ? true : P extends { readonly optional: false } ? false : DefinitionOf<P> extends { readonly optional: true } ? true : false;
/** An alert has no value. */
type ValueKeys<P> = { [K in keyof P]: P[K] extends { readonly type: "alert" } ? never : K }[keyof P];

/** The configured values; an optional one may be missing. */
export type PropValues<P> = {
  -readonly [K in ValueKeys<P> as IsOptional<P[K]> extends true ? never : K]: PropValue<P[K]>;
} & {
  -readonly [K in ValueKeys<P> as IsOptional<P[K]> extends true ? K : never]?: PropValue<P[K]>;
};

export type SourceThis<P, M> = PropValues<P> & M & { $emit: Emit };
export type ActionThis<P, M> = PropValues<P> & M;

interface Described {
  name: string;
  /** `app_name_slug-slugified-component-name`. */
  key?: string;
  version: string;
  description?: string;
}

type AdditionalProps<This> = (this: This, previousPropDefs: Record<string, Loose>) => Props | Promise<Props> | Record<string, unknown> | Promise<Record<string, unknown>>;

export interface Source<P extends Props, M extends Methods> extends Described {
  type?: "source";
  /** Which of the emitted events are dropped: each event needs an id then. */
  dedupe?: "unique" | "greatest" | "last";
  props?: P & Props;
  methods?: M & ThisType<SourceThis<P, M>>;
  hooks?: {
    deploy?(this: SourceThis<P, M>): unknown;
    activate?(this: SourceThis<P, M>): unknown;
    deactivate?(this: SourceThis<P, M>): unknown;
  };
  additionalProps?: AdditionalProps<SourceThis<P, M>>;
  /** Without one, the source emits its event. */
  run?(this: SourceThis<P, M>, event: Loose): unknown;
  sampleEmit?: unknown;
}

export interface Action<P extends Props, M extends Methods> extends Described {
  type: "action";
  props?: P & Props;
  methods?: M & ThisType<ActionThis<P, M>>;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint?: boolean };
  additionalProps?: AdditionalProps<ActionThis<P, M>>;
  run(this: ActionThis<P, M>, input: { $: Dollar; steps: Steps }): unknown;
}

/** A step's own code: an action that needs no name. */
export type Step<P extends Props, M extends Methods> = Omit<Action<P, M>, "name" | "version" | "type"> & Partial<Pick<Action<P, M>, "name" | "version" | "type">>;

export interface App<D extends Record<string, PropType | TypedProp | ReferringProp>, M extends Methods> {
  type: "app";
  /** Slug of the app. */
  app: string;
  propDefinitions?: D & Props;
  methods?: M & ThisType<M & { readonly $auth: Record<string, Loose> }>;
}

export function defineSource<const P extends Props = {}, M extends Methods = {}>(source: Source<P, M>): Source<P, M>;
export function defineAction<const P extends Props = {}, M extends Methods = {}>(action: Action<P, M>): Action<P, M>;
export function defineComponent<const P extends Props = {}, M extends Methods = {}>(step: Step<P, M>): Step<P, M>;
export function defineApp<const D extends Record<string, PropType | TypedProp | ReferringProp> = {}, M extends Methods = {}>(
  app: App<D, M>,
): { type: "app"; app: string; propDefinitions: D; methods: M };
