/** Connections that the walls refused, read from what the server says of them in errors and logs. Pure. */

export type Refused = { address: string; rule: string };

const SAID =
  /a connection to (\S+) was refused \(EACCES\): it is ([^;]+); whoever runs the server opens it with --egress-allow (\S+)/g;

/** Each address once, in the order of the texts. */
export function refusedIn(texts: Iterable<string>): Refused[] {
  const found = new Map<string, Refused>();
  for (const text of texts) {
    for (const [, address = "", rule = ""] of text.matchAll(SAID)) {
      if (!found.has(address)) found.set(address, { address, rule });
    }
  }
  return [...found.values()];
}
