// Length-prefixed JSON frames on file descriptor 3. Frames are written at once: code may block the loop right after.
import { Socket } from "node:net";

import { Buffer, JSON } from "./kept.ts";

const FRAME_BYTES_MAX = 64 << 20;
/** The server ends a host that sends a longer one. */
const SENT_BYTES_MAX = 16 << 20;

export class Wire {
  readonly #socket = new Socket({ fd: 3, readable: true, writable: true });
  #buffer: Buffer = Buffer.alloc(0);
  #together: Buffer[] | undefined;

  /** `onFrame` gets a frame and its text. */
  start(onFrame: (frame: Record<string, unknown>, text: string) => void): void {
    this.#socket.on("data", (chunk: Buffer) => {
      this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
      let offset = 0;
      while (this.#buffer.length - offset >= 4) {
        const length = this.#buffer.readUInt32LE(offset);
        if (length > FRAME_BYTES_MAX) process.reallyExit(70);
        if (this.#buffer.length - offset - 4 < length) break;
        const text = this.#buffer.toString("utf8", offset + 4, offset + 4 + length);
        onFrame(JSON.parse(text) as Record<string, unknown>, text);
        offset += 4 + length;
      }
      this.#buffer = offset === this.#buffer.length ? Buffer.alloc(0) : this.#buffer.subarray(offset);
    });
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
    else this.#socket.write(bytes);
  }

  /** What `send` sends goes out in one write. No code of users may run in it: it could block what is collected. */
  together(send: () => void): void {
    const all: Buffer[] = (this.#together = []);
    try {
      send();
    } finally {
      this.#together = undefined;
      const [first] = all;
      if (first) this.#socket.write(all.length === 1 ? first : Buffer.concat(all));
    }
  }
}

/** The bytes of a frame's text, where they are no more than a frame may have. */
export function checked(json: string): number {
  const length = Buffer.byteLength(json);
  if (length > SENT_BYTES_MAX) throw new RangeError(`what is sent here has ${length} bytes as JSON; allowed are ${SENT_BYTES_MAX}: keep large data outside and pass on where it is`);
  return length;
}
