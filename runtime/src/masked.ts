// Names and forms of credentials, and text without them: errors show requests, addresses and fields
// in this form.

/** Fields that hold what was sent and received, as HTTP clients name them: credentials stand in them. */
export const TRAFFIC = new Set(["config", "request", "response", "req", "res", "headers", "rawheaders", "auth", "agent", "socket"]);
/** Names of values that are secrets. */
export const SECRET = /pass(word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|cookie|credential|signature/i;

const SECRET_IN_QUERY = /([?&;][^=&?;\s]*(?:key|token|secret|passw|sig)[^=&?;\s]*=)[^&#\s"']+/gi;
/** User and password of an address as it should be: up to the last `@` before its path. */
const SECRET_IN_ADDRESS = /(\/\/)[^/?#\s"']+@/g;
/** An authority behind which an `@` is of the path or query: its host has a dot, a port or brackets, or is this machine. */
const AUTHORITY = /[^/?#\s"']*@(?:localhost|\[[\da-f:.]+\]|[^/?#\s"'@:]+\.[^/?#\s"'@:]+|[^/?#\s"'@:]+(?=:\d))(?::\d{1,5})?(?:,[^/?#\s"'@]*)?[/?#]/.source;
/** What follows `host:` where no password does. */
const PORT = /\d{1,5}(?:[/?#\s"'`.,;:)\]}>]|$)/.source;
/** Characters without blanks and quotes. */
const RUN = /[^\s"']{0,2048}/.source;
/** A user and the last `@` before a host, with a password between them in which nothing is encoded: it may have `/`, `?`, `#`, `@`, quotes, blanks and line breaks. */
const USER = `(?!${AUTHORITY})[^/?#\\s"':[]{0,256}:`;
const TO_LAST_AT = `${RUN}@(?=[^/?#@:\\s"'\`<>,;()]+(?:[/?#:,;\\s"'\`)\\]}>]|$))`;
const BEFORE_BLANKS = `(?!\\s|${PORT})(?:${RUN}[\\s"']){0,8}?`;
const RAW_IN_WEB_ADDRESS = new RegExp(`(?<=\\b(?:https?|wss?):\\/\\/)${USER}${BEFORE_BLANKS}${TO_LAST_AT}`, "gi");
/** Databases and mail servers have no `@` in their paths: digits behind the user may begin a password here. */
const RAW_IN_ADDRESS = new RegExp(`(?<=[a-z][\\w+.-]*:\\/\\/)(?<!\\b(?:https?|wss?):\\/\\/)${USER}(?:${BEFORE_BLANKS})?${TO_LAST_AT}`, "gi");
const SECRET_IN_JSON = /("[^"]*(?:password|secret|token|api_?key|authorization|cookie)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
/** What `fetch` and `Headers` say of a value with a line break, and node-fetch of older make: it is a credential with what stood behind it in a file. */
const REFUSED_HEADER = /(\bHeaders[\w. ]{0,20}: )[^]*?(?= is an invalid header value)/g;
const REFUSED_BY_NODE_FETCH = /(^(?:\w*Error: )?|Error: )[^]*?(?= is not a legal HTTP header value)/g;
const SECRET_SCHEME = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/g;

/** The path of an address or a file, with the host before it where there is one. */
const PATH = /(?:\/[^\s/?#"'`<>()[\]{},|\\]*)+/g;
/** Segments and hosts behind which the path of an address holds what allows to post there: Slack, Discord, Zapier, Teams, Mattermost, Make and their like. */
const HOOK = /^(?:services|hooks?|catch|webhook(?:s|b2|-test)?)$/i;
const HOOK_HOST = /(?:^|[@.])(?:web)?hooks?\./i;
/** Telegram's: `/bot<id>:<token>/`. */
const BOT = /^(bot\d+(?::|%3A)).+/i;
const MAY_HOLD_SECRET = /hook|services|catch|bot\d/i;
/** Words and ids, which are no secrets. */
const WORDS_OR_ID = /^(?:\d{1,12}|[a-z]{1,19}(?:[-_.@][a-z]{1,19})*)[.:;!]*$/i;
/** Files are no addresses: those of `file:` and /tmp, and without a host what ends as a file does. */
const FILE = /^\/(?:\/\/|tmp\/)|^(?!\/\/).*\.[a-z]\w{0,4}(?::\d+)*$/i;
const SEGMENT_MIN = 8;
/** Zapier's are short: `/hooks/catch/<id>/<token>`. */
const CAUGHT_MIN = 5;

function maskedPath(path: string): string {
  if (!MAY_HOLD_SECRET.test(path) || FILE.test(path)) return path;
  const hasHost = path.startsWith("//");
  let isBehind = false;
  let isCaught = false;
  return path
    .split("/")
    .map((segment, at) => {
      if (hasHost && at <= 2) {
        isBehind = HOOK_HOST.test(segment);
        return segment;
      }
      const isName = HOOK.test(segment);
      const isSecret = isCaught ? segment.length >= CAUGHT_MIN && !/^\d+$/.test(segment) : isBehind && !isName && segment.length >= SEGMENT_MIN && !WORDS_OR_ID.test(segment);
      isBehind ||= isName;
      isCaught ||= isName && segment.toLowerCase() === "catch";
      return isSecret ? "[hidden]" : segment.replace(BOT, "$1[hidden]");
    })
    .join("/");
}

/** Text without the credentials that stand in addresses, JSON and headers within it. */
export const masked = (text: string): string =>
  text
    .replace(REFUSED_HEADER, "$1[hidden]")
    .replace(REFUSED_BY_NODE_FETCH, "$1[hidden]")
    .replace(PATH, maskedPath)
    .replace(RAW_IN_WEB_ADDRESS, "[hidden]@")
    .replace(RAW_IN_ADDRESS, "[hidden]@")
    .replace(SECRET_IN_ADDRESS, "$1[hidden]@")
    .replace(SECRET_IN_QUERY, "$1[hidden]")
    .replace(SECRET_IN_JSON, '$1"[hidden]"')
    .replace(SECRET_SCHEME, "$1 [hidden]");
