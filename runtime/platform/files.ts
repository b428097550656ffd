// A file as a stream, from wherever a prop names it: a `data:` URL, an http(s) URL or a path.
import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { fileURLToPath } from "node:url";

import { extensionOf, mediaType } from "./media.ts";

export interface FileMetadata {
  size: number;
  contentType?: string;
  lastModified?: Date;
  name?: string;
  etag?: string;
}

export interface FileStreamAndMetadata {
  stream: Readable;
  metadata: FileMetadata;
}

const isRemote = (given: string) => /^https?:\/\//i.test(given);
const isData = (given: string) => /^data:/i.test(given);

function checked(pathOrUrl: unknown): string {
  const given = pathOrUrl instanceof URL ? pathOrUrl.href : pathOrUrl;
  if (typeof given !== "string" || given === "") throw new TypeError(`a file is named by its path or URL, a string; got ${given === "" ? "an empty string" : typeof given}`);
  return /^file:\/\//i.test(given) ? fileURLToPath(given) : given;
}

export async function getFileStream(pathOrUrl: string | URL): Promise<Readable> {
  const given = checked(pathOrUrl);
  if (isData(given)) return Readable.from([dataOf(given).bytes], { objectMode: false });
  if (isRemote(given)) return bodyOf(await get(given));
  // A path that is not there is an error of this call, not of a stream that nobody listens to yet.
  await fileStat(given);
  return createReadStream(given);
}

export async function getFileStreamAndMetadata(pathOrUrl: string | URL): Promise<FileStreamAndMetadata> {
  const given = checked(pathOrUrl);
  if (isData(given)) return fromData(given);
  if (isRemote(given)) return await fromRemote(given);
  const { size, mtime, mtimeMs } = await fileStat(given);
  const name = basename(given);
  const metadata = { size, contentType: mediaType(name), lastModified: mtime, name, etag: `${Math.trunc(mtimeMs)}-${size}` };
  return { stream: createReadStream(given), metadata };
}

async function fileStat(path: string) {
  const found = await stat(path);
  if (!found.isFile()) throw new TypeError(`\`${path}\` is not a file`);
  return found;
}

function dataOf(url: string): { bytes: Buffer; contentType: string; name: string | undefined } {
  const comma = url.indexOf(",");
  if (comma < 0) throw new TypeError("a data: URL needs a comma between its media type and its data");
  const [type = "", ...parameters] = url.slice("data:".length, comma).split(";").map((part) => part.trim());
  const text = decodeURIComponent(url.slice(comma + 1));
  const base64 = parameters.some((parameter) => /^base64$/i.test(parameter));
  const name = parameters.map((parameter) => /^(?:file)?name=(.+)$/is.exec(parameter)?.[1]).find((given) => given !== undefined);
  return { bytes: Buffer.from(text, base64 ? "base64" : "utf8"), contentType: type || "text/plain", name: name && decoded(name) };
}

function fromData(url: string): FileStreamAndMetadata {
  const { bytes, contentType, name } = dataOf(url);
  const extension = extensionOf(contentType);
  const metadata = { size: bytes.length, contentType, name: name ?? (extension === undefined ? "file" : `file.${extension}`) };
  return { stream: Readable.from([bytes], { objectMode: false }), metadata };
}

async function get(url: string): Promise<Response> {
  const response = await fetch(url);
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new Error(`could not get the file at ${url}: the answer was ${response.status} ${response.statusText}`.trimEnd());
  }
  return response;
}

const bodyOf = (response: Response): Readable => Readable.fromWeb(response.body as ReadableStream);

async function fromRemote(url: string): Promise<FileStreamAndMetadata> {
  const response = await get(url);
  const { headers } = response;
  const name = nameIn(headers.get("content-disposition")) ?? nameInUrl(response.url || url);
  const modified = new Date(headers.get("last-modified") ?? "");
  const metadata = {
    contentType: headers.get("content-type") ?? mediaType(name),
    lastModified: Number.isNaN(modified.getTime()) ? undefined : modified,
    name,
    etag: headers.get("etag") ?? undefined,
  };
  const length = headers.get("content-length");
  // The length of an encoded body is not that of what it decodes to.
  if (length !== null && !headers.get("content-encoding")) return { stream: bodyOf(response), metadata: { size: Number(length), ...metadata } };
  return await throughDisk(response, metadata);
}

/** Where the size is not told, the file is fetched first: who uploads it on must tell the size. */
async function throughDisk(response: Response, metadata: Omit<FileMetadata, "size">): Promise<FileStreamAndMetadata> {
  const path = join(tmpdir(), `file-stream-${randomUUID()}`);
  const remove = () => rm(path, { force: true });
  try {
    await pipeline(bodyOf(response), createWriteStream(path));
    const { size } = await stat(path);
    const stream = createReadStream(path);
    // Nobody waits for the removal: it must not fail a run.
    stream.on("close", () => void remove().catch(() => {}));
    return { stream, metadata: { size, ...metadata } };
  } catch (error) {
    await remove();
    throw error;
  }
}

function nameIn(disposition: string | null): string | undefined {
  if (!disposition) return undefined;
  const extended = /filename\*\s*=\s*[\w-]*'[^']*'([^;]+)/i.exec(disposition)?.[1];
  const plain = /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(disposition);
  const name = extended === undefined ? (plain?.[1]?.replace(/\\(.)/g, "$1") ?? plain?.[2]) : decoded(extended);
  return name === undefined || name.trim() === "" ? undefined : basename(name.trim());
}

function nameInUrl(url: string): string | undefined {
  return decoded(new URL(url).pathname.split("/").pop() ?? "") || undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
