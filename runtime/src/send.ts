// `$.send.*`: checked at once, where the author's line is on the stack; delivered by the server
// after the run.
import { $sendConfigRuntimeTypeChecker as check } from "../platform/send.ts";
import type { CallContext } from "./context.ts";
import { jsonText } from "./errors.ts";
import { checkHeaders, headerList } from "./respond.ts";
import type { Bag } from "./types.ts";

/** Header lines as an object: the values of each name. */
function byName(list: [string, string][]): Record<string, string[]> {
  return Object.fromEntries(list.map(([name]) => [name, list.filter(([other]) => other === name).map(([, value]) => value)]));
}

export function senders(call: CallContext): Bag {
  const send = (kind: string, payload: unknown): Promise<void> => {
    const text = jsonText(payload, `what $.send.${kind} sends`) ?? "null";
    const to = call.live;
    if (to.done) to.log("warn", `$.send.${kind} was called after the run had ended; it is not sent`);
    else to.sendText(`"t":"send","kind":"${kind}","payload":${text}}`);
    return Promise.resolve();
  };
  const bag = (payload: unknown) => payload as Bag;
  return {
    http: (payload: unknown) => {
      check.http(payload);
      const url = bag(payload)["url"] as string;
      if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new TypeError(`$.send.http: invalid value ${url.slice(0, 200)} for url; it is an http or https address`);
      const { headers } = bag(payload);
      const list = headerList("$.send.http", headers);
      checkHeaders("$.send.http", list);
      // JSON has no lines of a `Headers` or a map.
      const isList = typeof headers === "object" && headers !== null && Symbol.iterator in headers;
      return send("http", { method: "GET", ...bag(payload), ...(isList ? { headers: byName(list) } : {}) });
    },
    email: (payload: unknown) => {
      check.email(payload);
      if (bag(payload)["text"] === undefined && bag(payload)["html"] === undefined) throw new TypeError("$.send.email: `text` or `html` is needed");
      return send("email", payload);
    },
    s3: (payload: unknown) => {
      check.s3(payload);
      return send("s3", payload);
    },
    sse: (payload: unknown) => {
      check.sse(payload);
      return send("sse", payload);
    },
    // Both forms are in use: (event, channel) and ({raw_event, event?, name?}).
    emit: (event: unknown, channel?: unknown) => {
      if (event === null || typeof event !== "object" || !("raw_event" in event)) return send("emit", { raw_event: event ?? null, name: channel ?? undefined });
      check.emit(event);
      return send("emit", channel === undefined ? event : { name: channel, ...event });
    },
    sms: () => {
      throw new Error("$.send.sms is not available on Millrace: it has no phone numbers; use a component of a messaging app");
    },
  };
}
