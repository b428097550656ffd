// Transfer of stored files between the host and the server: listing, and contents in parts of 1
// MiB.
import { Buffer } from "node:buffer";

import { ask } from "./ask.ts";
import type { CallContext } from "./context.ts";
import { kindOf } from "./errors.ts";

/** Bytes of one part of a file; the last may be shorter. */
export const PART = 1 << 20;

/** A file of a store. */
export interface Listed {
  path: string;
  id: string;
  size: number;
  /** Milliseconds since 1970. */
  modified: number;
  /** The media type; only where one file was asked for. */
  type?: string;
}

export async function listFiles(store: string, call: CallContext): Promise<Listed[]> {
  const all: Listed[] = [];
  let after: string | null | undefined;
  do {
    const page = (await ask(call, "files.list", { store, ...(after ? { after } : {}) })) as { items: Listed[]; next?: string | null };
    all.push(...page.items);
    after = page.next;
  } while (after);
  return all;
}

/** The contents of one version of a file; rejects with `NotFound` where another has taken its place. */
export async function* readParts(store: string, { path, id, size }: Listed, call: CallContext): AsyncGenerator<Buffer> {
  for (let position = 0; position * PART < size; position++) {
    const text = await ask(call, "files.read", { store, path, id, position });
    yield Buffer.from(String(text ?? ""), "base64");
  }
}

/** Sends contents as they come and returns the id of the upload, which is no file of the store yet. */
export async function uploadParts(store: string, chunks: AsyncIterable<unknown>, type: string | undefined, call: CallContext): Promise<string> {
  const id = String(await ask(call, "files.begin", { store, ...(type ? { media_type: type } : {}) }));
  const part = Buffer.allocUnsafe(PART);
  let position = 0;
  let filled = 0;
  const send = async (): Promise<void> => {
    await ask(call, "files.part", { store, id, position, bytes: part.toString("base64", 0, filled) });
    position++;
    filled = 0;
  };
  for await (const chunk of chunks) {
    const bytes = bytesOf(chunk);
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(part, filled, at);
      at += copied;
      filled += copied;
      if (filled === PART) await send();
    }
  }
  if (filled > 0) await send();
  return id;
}

function bytesOf(chunk: unknown): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (Buffer.isBuffer(chunk)) return chunk;
  if (ArrayBuffer.isView(chunk)) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return Buffer.from(chunk);
  throw new TypeError(`a file is made of bytes or text; the stream gave ${kindOf(chunk)}`);
}
