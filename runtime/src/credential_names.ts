// Rule by which the name of a header, parameter or form field says that its value is a credential.
// The server has the same rule, with its reasons (`crates/model/src/credential_names.rs`); the tests
// of both read `test/credential_names.json`.

/** Words, and ends of words, that make a name one of a credential: wherever they stand, or as its last word. */
const ANYWHERE = /^(?:assertion|auth|authentication|authorization|bearer|credentials?|hmac|jwt|otp|passcode|passphrase|session|signature|wsse)$|(?:cookie|passwd|password|secret|sessid|sessionid|token)$/;
const LAST = /^(?:(?:access|api|app|auth|license|private|secret|subscription)?key|pass|pin|pwd|sig)$/;
/** Words directly before them with which they name no credential. */
const HARMLESS_BEFORE =
  /^(?:allow|cache|continuation|cursor|dedup|deduplication|foreign|idempotency|idempotent|issue|lock|next|object|ordering|page|pagination|partition|primary|project|public|publishable|routing|row|socket|sort|surrogate|websocket)$/;
/** Last words of names that describe a credential and hold none. */
const DESCRIBES =
  /^(?:alg|algorithm|count|date|email|enabled|endpoint|expiration|expires|expiry|format|headers|host|in|input|length|limit|method|mode|name|provider|remaining|required|scopes?|status|timestamp|ttl|type|user|username|version)$/;

export function isCredentialName(name: string): boolean {
  const words: string[] = [];
  for (const part of name.split(/[^A-Za-z\d]|(?<![A-Z])(?=[A-Z])/)) {
    const word = part.replace(/(?<!\d)\d+$/, "").toLowerCase();
    if (word !== "") words.push(word);
  }
  const last = words.length - 1;
  if (last < 0 || DESCRIBES.test(words[last]!)) return false;
  // Ids of sessions and secrets are credentials themselves.
  if (last > 0 && words[last] === "id" && words[last - 1] !== "session" && words[last - 1] !== "secret") return false;
  return words.some((word, at) => (ANYWHERE.test(word) || (at === last && LAST.test(word))) && !(at > 0 && HARMLESS_BEFORE.test(words[at - 1]!)));
}
