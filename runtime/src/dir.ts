// Value of a `dir` prop: a file store, whose files are read and written by path while the code runs
// (facts 4.8).
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import fs from "node:fs";
import { Readable, Writable, PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";

import { ask } from "./ask.ts";
import type { CallContext } from "./context.ts";
import { kindOf } from "./errors.ts";
import { listFiles, readParts, uploadParts, type Listed } from "./files.ts";
import { isObject, type ResolvedProp } from "./props.ts";

/** The store that a call reaches, and what the prop's `accessMode` allows. */
interface Access {
  prop: string;
  store: string;
  writes: boolean;
  call: CallContext;
}

/** A file or a folder, as `dir()` lists it. */
interface Entry {
  name: string;
  path: string;
  size?: number;
  modifiedAt?: Date;
  file?: File;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** `store`: the configured name; empty where the prop has no value, so that whatever code asks for fails with words. */
export function fileDir(prop: ResolvedProp, store: string, call: CallContext): object {
  return new Dir({ prop: prop.name, store, writes: prop.definition["accessMode"] !== "read", call });
}

class Dir {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  /** A file by its path, whether or not it exists. */
  open(path: unknown): File {
    return new File(this.#access, pathOf(path));
  }

  /** A file by what an earlier step exported of it. */
  openDescriptor(descriptor: unknown): File {
    const read: unknown = typeof descriptor === "string" ? JSON.parse(descriptor) : descriptor;
    if (!isObject(read) || typeof read["path"] !== "string") throw new TypeError(`a file descriptor is an object with \`path\`; got ${kindOf(read)}`);
    return this.open(read["path"]);
  }

  /** What lies directly below a path: files, and folders that have files. */
  async *dir(path: unknown = ""): AsyncGenerator<Entry> {
    const folder = pathOf(path, true);
    const prefix = folder === "" ? "" : `${folder}/`;
    const entry = (name: string, file?: Listed): Entry => ({
      name,
      path: `${prefix}${name}`,
      ...(file ? { size: file.size, modifiedAt: new Date(file.modified), file: this.open(file.path) } : {}),
      isFile: () => file !== undefined,
      isDirectory: () => file === undefined,
    });
    const folders = new Set<string>();
    const { store, call } = named(this.#access);
    for (const file of await listFiles(store, call)) {
      if (!file.path.startsWith(prefix)) continue;
      const [name = "", ...deeper] = file.path.slice(prefix.length).split("/");
      if (deeper.length === 0) yield entry(name, file);
      else if (!folders.has(name)) {
        folders.add(name);
        yield entry(name);
      }
    }
  }

  toString(): string {
    return this.#access.store;
  }

  toJSON(): string {
    return this.#access.store;
  }
}

/** A file of a store. Its own fields are what it is exported as. */
class File {
  readonly path: string;
  get_url: string | undefined;
  readonly s3Key: string;
  type: string | undefined;
  readonly #access: Access;

  constructor(access: Access, path: string) {
    this.path = path;
    this.s3Key = `${access.store}/${path}`;
    this.#access = access;
  }

  async fromReadableStream(stream: unknown, contentType?: unknown, _contentLength?: unknown): Promise<this> {
    const chunks = stream as AsyncIterable<unknown>;
    if (typeof chunks?.[Symbol.asyncIterator] !== "function") throw new TypeError(`fromReadableStream takes a readable stream; got ${kindOf(stream)}`);
    const { store, call } = this.#writable();
    // One that fails before it is read, such as that of a file which is not there, is reported by what is returned here.
    if (stream instanceof EventEmitter) stream.on("error", () => {});
    const type = typeof contentType === "string" && contentType !== "" ? contentType : undefined;
    const id = await uploadParts(store, chunks, type, call);
    await ask(call, "files.keep", { store, files: [[id, this.path]] });
    this.get_url = undefined;
    this.type = type;
    return this;
  }

  async fromFile(localPath: string, contentType?: unknown): Promise<this> {
    this.#writable();
    return await this.fromReadableStream(fs.createReadStream(localPath), contentType);
  }

  /** `options`: those of `fetch`, such as the headers of a request that needs a token. */
  async fromUrl(url: string | URL, options?: RequestInit): Promise<this> {
    this.#writable();
    const response = await fetch(url, options);
    if (!response.ok) throw new Error(`\`${new URL(url).host}\` answered ${response.status} to the request for the file \`${this.path}\``);
    return await this.fromReadableStream(response.body ?? Readable.from([]), response.headers.get("content-type"));
  }

  createWriteStream(contentType?: unknown, _contentLength?: unknown): Writable & Promise<Writable> {
    const through = new PassThrough();
    const stored = this.fromReadableStream(through, contentType);
    const stream = new Writable({
      write: (chunk, _encoding, done) => void through.write(chunk, done),
      // The stream finishes once the file is in the store.
      final: (done) => {
        through.end();
        stored.then(() => done(), done);
      },
      destroy: (error, done) => {
        through.destroy(error ?? undefined);
        done(error);
      },
    });
    // Errors are the outer stream's to report; where the store refuses before it reads, writes would wait for a reader that never comes.
    through.on("error", () => {});
    stored.catch((error: unknown) => stream.destroy(error as Error));
    return alsoPromised(stream);
  }

  createReadStream(): Readable & Promise<Readable> {
    return alsoPromised(Readable.from(this.#parts(), { objectMode: false }));
  }

  async toBuffer(): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.#parts()) parts.push(part);
    return Buffer.concat(parts);
  }

  async toEncodedString(encoding: BufferEncoding = "utf8", start?: number, end?: number): Promise<string> {
    return (await this.toBuffer()).toString(encoding, start, end);
  }

  async toFile(localPath: string): Promise<void> {
    await pipeline(this.createReadStream(), fs.createWriteStream(localPath));
  }

  /** An address that gives the file for 30 minutes. */
  async toUrl(): Promise<string> {
    const { store, call } = named(this.#access);
    const { url } = (await ask(call, "files.link", { store, path: this.path })) as { url: string };
    return url;
  }

  async withGetUrl(): Promise<this> {
    this.get_url = await this.toUrl();
    return this;
  }

  /** Files have no address to be written at. */
  withoutPutUrl(): this {
    return this;
  }

  withoutGetUrl(): this {
    this.get_url = undefined;
    return this;
  }

  async delete(): Promise<void> {
    const { store, call } = this.#writable();
    await ask(call, "files.delete", { store, path: this.path });
  }

  toJSON(): object {
    return { ...this };
  }

  async *#parts(): AsyncGenerator<Buffer> {
    const { store, call } = named(this.#access);
    const found = (await ask(call, "files.find", { store, path: this.path })) as Listed;
    yield* readParts(store, found, call);
  }

  #writable(): Access {
    const access = named(this.#access);
    if (!access.writes) throw new Error(`the prop \`${access.prop}\` has \`accessMode: "read"\`; \`write\` or \`read-write\` lets code change files`);
    return access;
  }
}

function named(access: Access): Access {
  if (access.store === "") throw new Error(`the prop \`${access.prop}\` names no file store; give it the name of one, such as \`attachments\`: it need not exist yet`);
  return access;
}

/** A path within its store, without the empty parts that a leading `/` or an attachment without a name leaves. */
function pathOf(path: unknown, isFolder = false): string {
  if (typeof path !== "string") throw new TypeError(`the path of a stored file is a string; got ${kindOf(path)}`);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.length === 0 && !isFolder) throw new RangeError(`\`${path}\` is not the path of a stored file; an example is \`reports/june.csv\``);
  return parts.join("/");
}

/** Code written for the hosted platform awaits a stream, or calls `then` of it; such a stream is there at once. What it resolves with is the stream without that. */
function alsoPromised<T extends object>(stream: T): T & Promise<T> {
  const then: Promise<T>["then"] = (done, failed) => {
    Reflect.deleteProperty(stream, "then");
    return Promise.resolve(stream).then(done, failed);
  };
  const members = { then, catch: (failed?: null) => then(undefined, failed), finally: (done?: () => void) => then((given) => (done?.(), given)) };
  for (const [name, value] of Object.entries(members)) Object.defineProperty(stream, name, { value, configurable: true, writable: true, enumerable: false });
  return stream as T & Promise<T>;
}
