// Names and forms of credentials, and text without them: errors show requests, addresses and fields
// in this form.

/** Fields that hold what was sent and received, as HTTP clients name them: credentials stand in them. */
export const TRAFFIC = new Set(["config", "request", "response", "req", "res", "headers", "rawheaders", "auth", "agent", "socket"]);
/** Names of values that are secrets. */
export const SECRET = /pass(word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|cookie|credential|signature/i;

const SECRET_IN_QUERY = /([?&;][^=&?;\s]*(?:key|token|secret|passw|sig)[^=&?;\s]*=)[^&#\s"']+/gi;
const SECRET_IN_ADDRESS = /(\/\/)[^/?#\s@"']+@/g;
const SECRET_IN_JSON = /("[^"]*(?:password|secret|token|api_?key|authorization|cookie)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"/gi;
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
    .replace(PATH, maskedPath)
    .replace(SECRET_IN_ADDRESS, "$1[hidden]@")
    .replace(SECRET_IN_QUERY, "$1[hidden]")
    .replace(SECRET_IN_JSON, '$1"[hidden]"')
    .replace(SECRET_SCHEME, "$1 [hidden]");
