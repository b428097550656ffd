// Names and forms of credentials, and text without them: what errors show of requests, addresses and fields.

/** Fields that hold what was sent and received, as HTTP clients name them: credentials stand in them. */
export const TRAFFIC = new Set(["config", "request", "response", "req", "res", "headers", "rawheaders", "auth", "agent", "socket"]);
/** Names of values that are secrets. */
export const SECRET = /pass(word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|cookie|credential|signature/i;

const SECRET_IN_QUERY = /([?&;][^=&?;\s]*(?:key|token|secret|passw|sig)[^=&?;\s]*=)[^&#\s"']+/gi;
const SECRET_IN_ADDRESS = /(\/\/)[^/?#\s@"']+@/g;
const SECRET_IN_JSON = /("[^"]*(?:password|secret|token|api_?key|authorization|cookie)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
const SECRET_SCHEME = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/g;

/** Text without the credentials that stand in addresses, JSON and headers within it. */
export const masked = (text: string): string =>
  text.replace(SECRET_IN_ADDRESS, "$1[hidden]@").replace(SECRET_IN_QUERY, "$1[hidden]").replace(SECRET_IN_JSON, '$1"[hidden]"').replace(SECRET_SCHEME, "$1 [hidden]");
