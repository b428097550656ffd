// Names and forms of credentials, and text without them: errors show requests, addresses and fields
// in this form.

/** Fields that hold what was sent and received, as HTTP clients name them: credentials stand in them. */
export const TRAFFIC = new Set(["config", "request", "response", "req", "res", "headers", "rawheaders", "auth", "agent", "socket"]);
const SECRET_PARTS = "pass(?:word|wd|phrase|code)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|cookie|credential|signature";
const SECRET_NAMES = "pass|pwd|jwt|bearer|session[-_]?id|sid|otp|pin|auth[-_]?code";
/** Names of values that are secrets. */
export const SECRET = new RegExp(`${SECRET_PARTS}|^(?:${SECRET_NAMES})$`, "i");

/** Parameters in the query or fragment of an address, as they are and as Go writes them in JSON. */
const SECRET_IN_QUERY = new RegExp(`((?:[?&;#]|\\\\u0026)(?:[^=&?;#\\s]{0,64}(?:key|token|secret|passw|sig)[^=&?;\\s]{0,64}|${SECRET_NAMES}|auth|session|hmac|appid)=)(?:\\[hidden\\]|[^&#\\s"']+)`, "gi");
/** Of an authorization; shorter ones are the codes of countries, errors and the like. */
const CODE_IN_QUERY = /([?&]code=)[^&#\s"']{6,}/gi;
/** `password=…` in the connection strings of libpq and ADO, and wherever else names stand before values; around the `=` of a quoted value there may be blanks. */
const SECRET_ASSIGNED = new RegExp(
  `((?<=^|[\\s"'\`({\\[,;|])(?:[\\w.$#-]{0,64}(?:${SECRET_PARTS})[\\w.-]{0,64}|${SECRET_NAMES})(?:=|[ \\t]{0,8}=[ \\t]{0,8}(?=\\\\{0,8}["'\`])))(?![=>]|(?:undefined|null|true|false)\\b)` +
    `(?:\\[hidden\\]|'(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*"|\`(?:[^\`\\\\]|\\\\.)*\`|["'\`][^\\n]+|\\\\+["'][^"'\\\\]*\\\\+["']|[^\\s&;"]*[^\\s&;"\\\\')\\]},.:\`])`,
  "gi",
);

/** An option of a command whose value is a secret. */
const OPTION = `(?<![\\w-])--?[\\w-]{0,64}(?:${SECRET_PARTS}|\\bpwd)[\\w-]{0,64}`;
/** A field whose value is a secret: of JSON at whatever depth of JSON within JSON, or as Node, Python and Ruby print objects; and an option whose value is in quotes. In texts that clients make of a request, the request's own parts are fields too. */
const SECRET_FIELD = new RegExp(
  `(?:(?:(?<!\\\\)(\\\\*)(["'\`])(?:[\\w$. -]{0,64}(?:${SECRET_PARTS})[\\w$. -]{0,64}|${SECRET_NAMES}|(?:request|req|headers|rawHeaders|variables|auth)(?=\\1\\2\\s*:\\s*[{[]))\\1\\2` +
    `|(?=[\\w$])(?<![\\w$])(?<=(?:^|[{,([])[\\s+-]*:?)(?:[\\w$.-]{0,64}(?:${SECRET_PARTS})[\\w$.-]{0,64}|${SECRET_NAMES}|(?:request|req|headers|rawHeaders|variables|auth)(?=: ?[{[])))` +
    `\\s*(?::|=>)\\s*(?:[ubrf]{1,2}(?=\\\\*["']))?(?=\\\\*["'\`]|[{[])|${OPTION}(?:[ \\t]{1,8}|\\\\{0,8}["'\`],\\s{0,8})(?=\\\\*["'\`]))`,
  "gim",
);
const OPENING = /\\*["'`]/y;
/** Node prints a text of several lines as a sum, whose lines may have the signs of a difference or be left out. */
const GOES_ON = /(?:\s*\+|,(?=\s*\n[+-]\s))\s*(?:\.\.\.\s*)?(?:[+-]\s+)?(?=["'`])/y;

/** Where the text or object that begins at `at` ends. `escape`: the backslashes before each of its quotes, none but in JSON within JSON. */
function endOf(text: string, at: number, escape: number): number {
  const marks = /(?<!\\)\\*["'`]|[{}[\]]/g;
  marks.lastIndex = at;
  let depth = 0;
  let quote = "";
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const kind = mark[0].at(-1)!;
    const backslashes = mark[0].length - 1;
    if (!"\"'`".includes(kind)) {
      if (quote === "") depth += "{[".includes(kind) ? 1 : -1;
    } else if (kind === '"' && backslashes < escape) {
      // The JSON that holds this one ends.
      return mark.index;
    } else if (backslashes % (2 * escape + 2) === escape) {
      if (quote === "") quote = kind;
      else if (quote === kind) quote = "";
    }
    if (quote === "" && depth <= 0) return marks.lastIndex;
  }
  return text.length;
}

/** Text without the values of fields that are secrets. */
function maskedFields(text: string): string {
  let shown = "";
  let from = 0;
  SECRET_FIELD.lastIndex = 0;
  for (let field = SECRET_FIELD.exec(text); field !== null; field = SECRET_FIELD.exec(text)) {
    const at = SECRET_FIELD.lastIndex;
    OPENING.lastIndex = at;
    const opening = OPENING.exec(text)?.[0] ?? "";
    shown += `${text.slice(from, at)}${opening}[hidden]${opening}`;
    from = endOf(text, at, opening === "" ? (field[1] ?? "").length : opening.length - 1);
    for (GOES_ON.lastIndex = from; opening !== "" && GOES_ON.test(text); GOES_ON.lastIndex = from) from = endOf(text, GOES_ON.lastIndex, 0);
    SECRET_FIELD.lastIndex = from;
  }
  return shown + text.slice(from);
}

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
/** What `fetch` and `Headers` say of a value with a line break, and node-fetch of older make: it is a credential with what stood behind it in a file. */
const REFUSED_HEADERS: [said: string, value: RegExp][] = [
  [" is an invalid header value", /(\bHeaders[\w. ]{0,20}: )[^]*?(?= is an invalid header value)/g],
  [" is not a legal HTTP header value", /(^(?:\w*Error: )?|Error: )[^]*?(?= is not a legal HTTP header value)/g],
];

/** Looks no further than the last of what is said, so that no search runs to the end of the text in vain. */
const withoutRefused = (text: string): string =>
  REFUSED_HEADERS.reduce((shown, [said, value]) => {
    const last = shown.lastIndexOf(said) + said.length;
    return last < said.length ? shown : shown.slice(0, last).replace(value, "$1[hidden]") + shown.slice(last);
  }, text);

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

/**
 * A name and what stands between it and a value without quotes, as in lines of headers, YAML and
 * properties. All its repetitions are bounded, and so it looks at each character a bounded number of times.
 */
export const BARE_NAME = new RegExp(
  `(?<![\\w$.-])(?:(?<=\\\\)[nrt])?([\\w$.-]{0,64}(?:${SECRET_PARTS})[\\w$.-]{0,64}|${SECRET_NAMES})` +
    `(?:[ \\t]{0,8}:[ \\t]{0,8}|[ \\t]{1,8}=[ \\t]{1,8})(?![\\s"'\`{[=>:]|//|\\\\{1,64}[rn"'\`])`,
  "gi",
);
/** Characters before a name by which its place is known. */
const LEAD = 20;
/** What a line begins with; the text of an error begins behind the name of its class. */
const AT_LINE = /(?:[\r\n]|\\[nrt]?|: )[ \t<>*+-]{0,16}$/;
const AT_FIELD = /["'`({[,;|][ \t<>*+-]{0,16}$/;
const QUOTE_BEFORE = /\\{0,16}["'`]$/;
/** Names that are no words of prose: `X-Api-Key`, `api_key`, `apiKey`. */
const IS_HEADER_LIKE = /[-_]|[a-z\d][A-Z]|^(?:Authorization|Cookie)$/;
/** The values of these have blanks. */
const IS_CREDENTIAL_HEADER = /(?:authorization|cookie)$/i;
const IS_ERROR = /(?:error|exception)$/i;
/** The rest of a header, which may have quotes within; JSON and Node write the end of its line as `\r\n`. */
export const HEADER = /(?:[^\\\r\n]|\\(?!\\{0,8}[rn]))*/y;
/** The rest of a line, and a word of it, without the quote behind them and the end of a line as JSON and Node write it. */
export const REST_OF_LINE = /(?:[^"'`\\\r\n]|["'`](?![\s,)\]}+]|$)|\\(?!\\{0,8}[rn"'`]))*/y;
export const WORD = /(?:[^"'`\\\s]|["'`](?![\s,;:)\]}+.]|$)|\\(?!\\{0,8}[rn"'`]))*/y;
/** Two words without digits or capitals within them: "must be", "Path `password`". */
const PROSE = /^["'`“(]?\p{L}[\p{Ll}'’]{0,20} ["'`“(]?\p{L}[\p{Ll}'’]{0,24}(?=[\s.,:;!?)"'`”]|$)/u;
/** Numbers are no secrets in JSON either; places in files look like them. What stands for a secret is none. */
const NO_SECRET = /^(?:[\d:.,%]+|[*•.…]+|(?:(?:bearer|basic|token) ?)?(?:<[^<>]{1,40}>)?|undefined|null|none|true|false|required|invalid|missing|expired|unknown|empty)[.!?]?$/i;

/** Where the characters of a value end, without the punctuation behind it. */
function endOfRun(text: string, at: number, run: RegExp): number {
  run.lastIndex = at;
  run.test(text);
  let end = run.lastIndex;
  while (end > at && ",;)]}".includes(text[end - 1]!)) end--;
  return end;
}

/** Where a value ends within the quotes that open at `open`, with its line at the latest. */
function endOfQuoted(text: string, open: number, quote: string, at: number): number {
  const end = endOf(text, open, quote.length - 1);
  const line = text.slice(at, end).search(/[\r\n]/);
  if (line >= 0) return at + line;
  return text.endsWith(quote, end) ? end - quote.length : end;
}

/** Characters before a place in which the begin of its string is looked for; the author's line has fewer. */
const STRING_MAX = 256;

/** Whether a place of a line of source text is within a string that begins on it. */
function isWithinString(line: string, place: number): boolean {
  let open = "";
  for (let at = Math.max(0, place - STRING_MAX); at < place; at++) {
    const char = line[at]!;
    if (char === "\\") at++;
    else if (open === "" ? "\"'`".includes(char) : char === open) open = open === "" ? char : "";
  }
  return open !== "";
}

/**
 * Where the bare value at `at` ends, whose name begins at `start`; undefined where it is no secret:
 * - A name of one word (`password`) counts at the begin of a line, behind `: ` and in brackets and
 *   quotes only; one like a header's (`X-Api-Key`, `api_key`, `apiKey`) counts anywhere before a
 *   `:`. In source text (`isCode`) a name counts at the begin of a string, one like a header's also
 *   within: what else stands bare is code.
 * - A value that begins with two words without digits and capitals within is prose and stays; not
 *   so the rest of an `Authorization` or a `Cookie`.
 */
function endOfBare(text: string, start: number, name: string, at: number, isCode: boolean): number | undefined {
  const lead = (start <= LEAD ? "\n" : "") + text.slice(Math.max(0, start - LEAD), start);
  const quote = QUOTE_BEFORE.exec(lead)?.[0];
  const isLine = AT_LINE.test(lead);
  const isAssigned = text.slice(start, at).includes(" = ");
  const isPlaced = isLine || quote !== undefined || (!isAssigned && AT_FIELD.test(lead));
  const isOfText = isCode && IS_HEADER_LIKE.test(name) && !isAssigned && isWithinString(text, start) && !text.startsWith("${", at);
  const counts = isCode ? quote !== undefined || lead.endsWith("\\") || isOfText : isPlaced || (!isAssigned && IS_HEADER_LIKE.test(name));
  if (!counts || IS_ERROR.test(name)) return undefined;
  const isHeader = IS_CREDENTIAL_HEADER.test(name);
  if (PROSE.test(text.slice(at, at + 64)) && !(isHeader && isPlaced)) return undefined;
  const end = quote === undefined ? endOfRun(text, at, isHeader && isLine ? HEADER : isHeader || isLine ? REST_OF_LINE : WORD) : endOfQuoted(text, start - quote.length, quote, at);
  return end <= at || NO_SECRET.test(text.slice(at, end)) ? undefined : end;
}

/** Text without secrets that stand behind a name without quotes. */
function maskedBare(text: string, isCode: boolean): string {
  let shown = "";
  let from = 0;
  BARE_NAME.lastIndex = 0;
  for (let found = BARE_NAME.exec(text); found !== null; found = BARE_NAME.exec(text)) {
    const at = BARE_NAME.lastIndex;
    const end = endOfBare(text, found.index, found[1]!, at, isCode);
    if (end === undefined) continue;
    shown += `${text.slice(from, at)}[hidden]`;
    BARE_NAME.lastIndex = from = end;
  }
  return shown + text.slice(from);
}

/** Elements of XML; a name in angle brackets that no element ends may be a type of code. */
const SECRET_ELEMENT = new RegExp(
  `(<(?:[\\w.-]{1,64}:)?(?:[\\w.-]{0,64}(?:${SECRET_PARTS})[\\w.-]{0,64}|${SECRET_NAMES})(?:\\s[^<>]{0,256})?>)` +
    `(?:<!\\[CDATA\\[(?:[^\\]]|\\](?!\\]>))*(?:\\]\\]>)?|[^<]+(?=<\\\\?/)|[^\\s<>()]{6,})`,
  "gi",
);
/** What follows an option of a command in prose. */
const OF_OPTION = "(?:is|are|was|must|needs?|requires?|should|can|cannot|has|have|may|not|and|or|to|for|from|in|of|as|with|without|flag|option|argument|value|missing|instead)\\b";
const SECRET_OPTION = new RegExp(`(${OPTION}[ \\t]{1,8})(?!-|${OF_OPTION}|\\[hidden\\])[^\\s"'\`\\\\]+`, "gi");
/** User and password of curl. */
const SECRET_OF_USER = /((?<![\w-])(?:-u|--user|-U|--proxy-user)[ =]{1,4}["']?[^\s:"'`]{1,128}:)(?!\d+(?:\s|$))[^\s"'`]+/g;
const PRIVATE_KEY = /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?:[^-]|-(?!----END))*/g;

/**
 * Tokens that are known by their form, whatever stands around them. Each begins at the begin of a word, which may
 * follow an escaped line break, and goes on over single characters: the work for a text grows with its length alone.
 */
const TOKEN = new RegExp(
  `(?:(?<![\\w-])|(?<=\\\\[nrt]))(?:${[
    // JSON Web Tokens, signed, encrypted or without a signature.
    /eyJ[\w-]{8,}\.(?:[\w-]{4,}\.[\w-]*|\.[\w-]{8,})(?:\.[\w-]+){0,2}/,
    // OpenAI, Anthropic and their like; a class of CSS and a language have no such run of letters and digits.
    /sk-(?=[\w-]*[A-Za-z\d]{12})(?=[\w-]*\d)[\w-]{20,}/,
    // Stripe, Shopify, Mapbox.
    /[rs]k_(?:live|test)_[A-Za-z\d]{10,}|whsec_[A-Za-z\d+/=]{16,}|shp(?:at|ca|pa|ss)_[A-Fa-f\d]{32}|sk\.eyJ[\w-]{8,}\.[\w-]{8,}/,
    // GitHub, GitLab, Docker, npm, PyPI.
    /gh[oprsu]_[A-Za-z\d]{20,}|github_pat_\w{20,}|gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{16,}|dckr_pat_[\w-]{20,}|npm_[A-Za-z\d]{36}|pypi-[\w-]{50,}/,
    // Slack, Telegram, Discord.
    /xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-\d-[\w-]{10,}|\d{8,10}:AA[\w-]{33}|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/,
    // Amazon, Google, DigitalOcean, Databricks, Hugging Face.
    /A(?:KI|SI|BI|CC)A[A-Z2-7]{16}(?!\w)|AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|do[opr]_v1_[a-f\d]{64}|dapi[a-f\d]{32}|hf_[A-Za-z\d]{30,}/,
    // SendGrid, Mailgun, Brevo, Airtable, Notion, Linear, HubSpot, Square.
    /SG\.[\w-]{16,}\.[\w-]{16,}|key-[a-f\d]{32}(?!\w)|xkeysib-[a-f\d]{64}-\w{8,}|pat[A-Za-z\d]{14}\.[a-f\d]{64}|(?:secret|ntn)_[A-Za-z\d]{40,}|lin_(?:api|oauth)_[A-Za-z\d]{30,}|pat-[a-z]{2}\d-[a-f\d-]{36}|sq0[a-z]{3}-[\w-]{22,}/,
    // Vault, Grafana, New Relic, Atlassian, this server.
    /hvs\.[\w-]{20,}|glsa_\w{20,}|NRAK-[A-Z\d]{27}|ATATT3[\w=-]{50,}|mrs?_[A-Za-z\d]{40}/,
  ]
    .map((form) => form.source)
    .join("|")})`,
  "g",
);

const withoutCredentials = (text: string): string =>
  withoutRefused(text)
    .replace(PATH, maskedPath)
    .replace(RAW_IN_WEB_ADDRESS, "[hidden]@")
    .replace(RAW_IN_ADDRESS, "[hidden]@")
    .replace(SECRET_IN_ADDRESS, "$1[hidden]@")
    .replace(SECRET_IN_QUERY, "$1[hidden]")
    .replace(CODE_IN_QUERY, "$1[hidden]")
    .replace(SECRET_ASSIGNED, "$1[hidden]")
    .replace(SECRET_ELEMENT, "$1[hidden]")
    .replace(SECRET_OPTION, "$1[hidden]")
    .replace(SECRET_OF_USER, "$1[hidden]")
    .replace(SECRET_SCHEME, "$1 [hidden]")
    .replace(TOKEN, "[hidden]");

const maskedKeys = (text: string): string => text.replace(PRIVATE_KEY, "$1[hidden]");

/** Text without the credentials that stand in addresses, JSON, headers and other notations within it. */
export const masked = (text: string): string => withoutCredentials(maskedBare(maskedFields(maskedKeys(text)), false));

/** A string behind a name of a secret in source text: what is called, assigned or set by it. */
const SECRET_LITERAL = new RegExp(
  `((?:${SECRET_PARTS})[\\w$-]{0,64}(?:["'\`]?\\]?\\s{0,8}(?:[(:]|[|?]{0,2}=|\\|\\||\\?\\?)|["'\`]\\s{0,8},)\\s{0,8})` +
    `(?:"(?:[^"\\\\]|\\\\.)*"?|'(?:[^'\\\\]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\.)*\`?)`,
  "gi",
);
/** A string that looks like a key, whatever stands before it: letters with digits among them, and no address. */
const KEY_LITERAL = /(["'`])(?![^"'`\s]*:\/\/)[^"'`\s]*?(?=[A-Za-z\d]{12})(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[^"'`\s]*/g;

/** A line of source text without the credentials within its strings. */
export const maskedSource = (line: string): string =>
  withoutCredentials(maskedBare(maskedFields(maskedKeys(line)), true)).replace(SECRET_LITERAL, "$1[hidden]").replace(KEY_LITERAL, "$1[hidden]");
