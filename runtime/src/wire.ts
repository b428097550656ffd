// Length-prefixed JSON frames on file descriptor 3. Frames are written at once: code may block the
// loop right after.
import { Socket } from "node:net";

import { Buffer, copyInto, giveUp, JSON, later, ownText, readUInt32LE, reallyExit, subarray, textOf, writeSync, writeText, writeUInt32LE } from "./kept.ts";

const WIRE = 3;
/** Bytes that are read at once, into the same room each time. */
const READ_MAX = 64 << 10;

const FRAME_BYTES_MAX = 64 << 20;
/** The server ends a host that sends a longer one. */
const SENT_BYTES_MAX = 16 << 20;

/** How often it is looked whether all is written before the process ends, milliseconds. */
const WRITTEN_LOOK = 5;

const NOTHING = Buffer.alloc(0);

/** A part of a buffer, with room for more behind it. */
function copied(bytes: Buffer, from: number, to: number, more = 0): Buffer {
  const copy = Buffer.alloc(to - from + more);
  copyInto(copy, 0, bytes, from, to);
  return copy;
}

export class Wire {
  #socket: Socket | undefined;
  /** The beginning of a frame that has not come whole. */
  #rest: Buffer = NOTHING;
  #together: Buffer[] | undefined;
  #leaves = false;

  /** `onFrame` gets a frame and its text. */
  start(onFrame: (frame: Record<string, unknown>, text: string) => void): void {
    const read = (length: number, room: Uint8Array): void => {
      const before = this.#rest.length;
      const bytes = before === 0 ? (room as Buffer) : copied(this.#rest, 0, before, length);
      if (before > 0) copyInto(bytes, before, room as Buffer, 0, length);
      const end = before + length;
      let offset = 0;
      while (end - offset >= 4) {
        const length = readUInt32LE(bytes, offset);
        if (length > FRAME_BYTES_MAX) process.reallyExit(70);
        if (end - offset - 4 < length) break;
        const text = textOf(bytes, offset + 4, offset + 4 + length);
        onFrame(JSON.parse(text) as Record<string, unknown>, text);
        offset += 4 + length;
      }
      // The room is read into again.
      this.#rest = offset === end ? NOTHING : copied(bytes, offset, end);
    };
    // A frame that is lost would be waited for.
    const take = (length: number, room: Uint8Array): boolean => {
      try {
        read(length, room);
      } catch (error) {
        giveUp(error);
      }
      return true;
    };
    // `onread` is no part of the types of this constructor, though it takes it.
    const options = { fd: WIRE, readable: true, writable: true, onread: { buffer: Buffer.alloc(READ_MAX), callback: take } };
    this.#socket = new Socket(options);
    // There is no timeout for Node to renew with each frame, by a method that code can replace.
    Object.assign(this.#socket, { _unrefTimer() {} });
    // Without the server there is nothing to live for.
    this.#socket.on("close", () => process.reallyExit(0));
    this.#socket.on("error", () => process.reallyExit(0));
  }

  send(frame: object): void {
    this.sendText(ownText(frame) as string);
  }

  /** `json`: the text of one object. `before`: that of a frame that goes ahead of it, in the same write. */
  sendText(json: string, before?: string): void {
    const length = checked(json);
    const ahead = before === undefined ? 0 : 4 + checked(before);
    const bytes = Buffer.allocUnsafe(ahead + 4 + length);
    if (before !== undefined) {
      writeUInt32LE(bytes, ahead - 4, 0);
      writeText(bytes, before, 4);
    }
    writeUInt32LE(bytes, length, ahead);
    writeText(bytes, json, ahead + 4);
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
      const first = all[0];
      if (first) this.#write(all.length === 1 ? first : Buffer.concat(all));
      if (this.#leaves) this.#exitOnceWritten();
    }
  }

  /** Ends the process once what was sent is written. */
  leave(): void {
    this.#leaves = true;
    if (!this.#together) this.#exitOnceWritten();
  }

  #exitOnceWritten(): void {
    if (!this.#socket || this.#socket.writableLength === 0) reallyExit(0);
    later(() => this.#exitOnceWritten(), WRITTEN_LOOK);
  }

  /** A stream costs much more than the system call. It takes what the wire has no room for, and what comes until that is written. */
  #write(bytes: Buffer): void {
    let written = 0;
    if (this.#socket?.writableLength === 0 && canWriteAtOnce()) {
      try {
        written = writeSync(WIRE, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") process.reallyExit(0);
      }
    }
    if (written < bytes.length) this.#socket?.write(written === 0 ? bytes : subarray(bytes, written));
  }
}

/** Node's `writeSync` looks for errors in an object of its own: where code has put such fields on every object, it would fail after it wrote. */
function canWriteAtOnce(): boolean {
  const own: { errno?: unknown; error?: unknown } = {};
  return own.errno === undefined && own.error === undefined;
}

/** The bytes of a frame's text, where they are no more than a frame may have. */
export function checked(json: string): number {
  const length = Buffer.byteLength(json);
  if (length > SENT_BYTES_MAX) throw new RangeError(`what is sent here has ${length} bytes as JSON; allowed are ${SENT_BYTES_MAX}: keep large data outside and pass on where it is`);
  return length;
}
