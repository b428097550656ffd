// API of the platform for code that runs: `this`, `$` and the values of props.
import type { Readable, Writable } from "node:stream";

type Loose = any;

/** Metadata as sources of the hosted platform declare it. */
export interface EmitMetadata {
  id?: string | number;
  name?: string;
  summary?: string;
  ts?: number;
}
export interface IdEmitMetadata extends EmitMetadata {
  id: string | number;
}

/** What `$emit` takes beside the event. */
export interface EmitMeta {
  /** Needed with a dedupe strategy. */
  id?: string | number;
  /** Channel; the default one where it is absent. */
  name?: string;
  summary?: string;
  /** Epoch milliseconds; events of a run are ordered by it. A date as text is taken, and orders nothing. */
  ts?: number | string;
  /** Epoch milliseconds: the event waits in the channel `$in` until then. */
  delivery_ts?: number;
}

/** Needs no `await`. */
export type Emit = (event?: unknown, meta?: EmitMeta) => Promise<void>;

/** Private to the source, and synchronous. */
export interface ServiceDb {
  get(key: string): Loose;
  /** Values are JSON; `undefined` clears. */
  set(key: string, value: unknown): void;
  delete(key: string): void;
}

export interface HttpResponse {
  /** 100 to 599. */
  status?: number | string;
  headers?: Record<string, string | number | readonly string[] | undefined>;
  /** Text, bytes, a stream, or what becomes JSON. */
  body?: Loose;
}

/** A body that stands for a whole answer, with the status 200; a `Response` brings its own status and headers. */
export type HttpBody = string | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | AsyncIterable<unknown> | Blob | FormData | URLSearchParams | Request | Response;

/** An answer: its fields, or a body in their place; a promise of one is awaited. */
export type HttpAnswer<Fields = HttpResponse> = Fields | HttpBody | null | undefined;

export interface HttpInterface {
  /** Its URL. */
  endpoint: string;
  respond(response?: HttpAnswer | PromiseLike<HttpAnswer>): Promise<void>;
}

/** Awaited, the whole list; with `for await`, one by one. */
export type Listed<T> = PromiseLike<T[]> & AsyncIterable<T>;

/** A file of a file store. */
export interface StoredFile {
  readonly path: string;
  /** After `withGetUrl()`: gives the file for 30 minutes. */
  get_url?: string;
  readonly s3Key: string;
  /** The media type. */
  type?: string;
  fromReadableStream(stream: AsyncIterable<unknown> | ReadableStream, contentType?: string | null, contentLength?: number): Promise<this>;
  fromFile(localPath: string, contentType?: string): Promise<this>;
  /** `options`: those of `fetch`. */
  fromUrl(url: string | URL, options?: Loose): Promise<this>;
  /** Also awaited. */
  createReadStream(): Readable & Promise<Readable>;
  createWriteStream(contentType?: string, contentLength?: number): Writable & Promise<Writable>;
  toBuffer(): Promise<Buffer>;
  /** Of the bytes from `start` to before `end`. */
  toEncodedString(encoding?: BufferEncoding, start?: number, end?: number): Promise<string>;
  toFile(localPath: string): Promise<void>;
  toUrl(): Promise<string>;
  withGetUrl(): Promise<this>;
  withoutPutUrl(): this;
  withoutGetUrl(): this;
  delete(): Promise<void>;
  toJSON(): Loose;
}

/** What `dir()` of a file store lists; folders have no size, and are no file. */
export interface DirEntry {
  name: string;
  path: string;
  size?: number;
  modifiedAt?: Date;
  file?: StoredFile;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** A file store, which a `dir` prop names. */
export interface FileDir {
  open(path: string): StoredFile;
  openDescriptor(descriptor: Loose): StoredFile;
  dir(path?: string): AsyncGenerator<DirEntry>;
  [member: string]: Loose;
}

/** Shared between workflows, and asynchronous. */
export interface DataStore extends AsyncIterable<[string, Loose]> {
  get(key: string): Promise<Loose>;
  /** `ttl`: seconds. */
  set(key: string, value: unknown, options?: { ttl?: number }): Promise<void>;
  setTtl(key: string, ttl: number | null): Promise<void>;
  has(key: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  clear(): Promise<void>;
  size(): Promise<number>;
  keys(): Listed<string>;
  entries(): Listed<[string, Loose]>;
}

export interface HttpRequest {
  /** Rejects where the status is 400 or more, with `response`. */
  execute(): Promise<{ status: number; statusText: string; headers: Record<string, string>; data: Loose; [field: string]: Loose }>;
}

export interface Sql {
  app: string;
  query: string;
  params: unknown[];
}

/** What earlier steps left, and the trigger. */
export interface Steps {
  trigger: { event: Loose; context: Loose };
  [namespace: string]: Loose;
}

export interface PauseUrls {
  resume_url: string;
  cancel_url: string;
}

export interface Context {
  id: string;
  ts: string;
  workflow_id: string;
  deployment_id: string;
  owner_id: string;
  trace_id: string;
  /** Epoch milliseconds. */
  deadline: number;
  /** Whether this is a test run. */
  JIT: boolean;
  test: boolean;
  run: {
    /** 1 in the first run of a step. */
    runs: number;
    /** What `$.flow.rerun` was given. */
    context?: Loose;
    /** The request that resumed it. */
    callback_request?: Loose;
  };
  [key: string]: Loose;
}

/** Sent at the end of the run, or at once where it is `immediate`. */
type StepAnswer = HttpAnswer<HttpResponse & { immediate?: boolean }>;

export interface $ {
  /** `$summary` is shown to the user; any other name is read as `steps.<step>.<name>`. */
  export(name: string, value: unknown): void;
  /** Answers the request that started the workflow, at its end unless `immediate`. */
  respond(response?: StepAnswer | PromiseLike<StepAnswer>): Promise<void>;
  flow: {
    /** Ends the workflow, here. */
    exit(reason?: string): never;
    /** Pauses after this step; 1 ms to a year. */
    delay(ms: number, context?: unknown): PauseUrls;
    /** Pauses after this step until `resume_url` is requested; cancelled after `ms`, 24 hours if absent. */
    suspend(ms?: number, context?: unknown): PauseUrls;
    /** Runs this step again after `ms`, at most `maxRetries` times (10). */
    rerun(ms: number, context?: unknown, maxRetries?: number): PauseUrls;
    trigger(workflowId: string, event?: unknown): Promise<Loose>;
    /** The deadline in epoch milliseconds, as text; it is not moved. */
    refreshTimeout(): string;
  };
  /** Collected, and delivered after the run; none needs `await`. */
  send: {
    http(request: { method?: string; url: string; data?: unknown; headers?: Record<string, string>; params?: Record<string, unknown>; auth?: { username: string; password: string } }): Promise<void>;
    email(mail: { subject: string; text?: string; html?: string; to?: string | string[] }): Promise<void>;
    s3(object: { bucket: string; prefix: string; payload: Loose }): Promise<void>;
    emit(event: unknown, channel?: string): Promise<void>;
    sse(message: { channel: string; payload: unknown }): Promise<void>;
  };
  context: Context;
}
