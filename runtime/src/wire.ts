// Length-prefixed JSON frames on file descriptor 3. Frames are written at once: code may block the loop right after.
import { Socket } from "node:net";

import { Buffer, JSON, writeSync } from "./kept.ts";

const WIRE = 3;
/** Bytes that are read at once, into the same room each time. */
const READ_MAX = 64 << 10;

const FRAME_BYTES_MAX = 64 << 20;
/** The server ends a host that sends a longer one. */
const SENT_BYTES_MAX = 16 << 20;

export class Wire {
  #socket: Socket | undefined;
  /** The beginning of a frame that has not come whole. */
  #rest: Buffer = Buffer.alloc(0);
  #together: Buffer[] | undefined;

  /** `onFrame` gets a frame and its text. */
  start(onFrame: (frame: Record<string, unknown>, text: string) => void): void {
    const take = (length: number, room: Uint8Array): boolean => {
      const came = (room as Buffer).subarray(0, length);
      const bytes = this.#rest.length === 0 ? came : Buffer.concat([this.#rest, came]);
      let offset = 0;
      while (bytes.length - offset >= 4) {
        const length = bytes.readUInt32LE(offset);
        if (length > FRAME_BYTES_MAX) process.reallyExit(70);
        if (bytes.length - offset - 4 < length) break;
        const text = bytes.toString("utf8", offset + 4, offset + 4 + length);
        onFrame(JSON.parse(text) as Record<string, unknown>, text);
        offset += 4 + length;
      }
      const rest = bytes.subarray(offset);
      // The room is read into again.
      this.#rest = bytes === came ? Buffer.concat([rest]) : rest;
      return true;
    };
    // `onread` is no part of the types of this constructor, though it takes it.
    const options = { fd: WIRE, readable: true, writable: true, onread: { buffer: Buffer.alloc(READ_MAX), callback: take } };
    this.#socket = new Socket(options);
    // Without the server there is nothing to live for.
    this.#socket.on("close", () => process.reallyExit(0));
    this.#socket.on("error", () => process.reallyExit(0));
  }

  send(frame: object): void {
    this.sendText(JSON.stringify(frame));
  }

  /** `json`: the text of one object. `before`: that of a frame that goes ahead of it, in the same write. */
  sendText(json: string, before?: string): void {
    const length = checked(json);
    const ahead = before === undefined ? 0 : 4 + checked(before);
    const bytes = Buffer.allocUnsafe(ahead + 4 + length);
    if (before !== undefined) {
      bytes.writeUInt32LE(ahead - 4, 0);
      bytes.write(before, 4);
    }
    bytes.writeUInt32LE(length, ahead);
    bytes.write(json, ahead + 4);
    if (this.#together) this.#together[this.#together.length] = bytes;
    else this.#write(bytes);
  }

  /** What `send` sends goes out in one write. No code of users may run in it: it could block what is collected. */
  together(send: () => void): void {
    const all: Buffer[] = (this.#together = []);
    try {
      send();
    } finally {
      this.#together = undefined;
      const [first] = all;
      if (first) this.#write(all.length === 1 ? first : Buffer.concat(all));
    }
  }

  /** A stream costs much more than the system call. It takes what the wire has no room for, and what comes until that is written. */
  #write(bytes: Buffer): void {
    let written = 0;
    if (this.#socket?.writableLength === 0) {
      try {
        written = writeSync(WIRE, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") process.reallyExit(0);
      }
    }
    if (written < bytes.length) this.#socket?.write(bytes.subarray(written));
  }
}

/** The bytes of a frame's text, where they are no more than a frame may have. */
export function checked(json: string): number {
  const length = Buffer.byteLength(json);
  if (length > SENT_BYTES_MAX) throw new RangeError(`what is sent here has ${length} bytes as JSON; allowed are ${SENT_BYTES_MAX}: keep large data outside and pass on where it is`);
  return length;
}
