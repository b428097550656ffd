/** Texts as `curl` encodes them: credentials and fields of forms. Pure. */

/** Base64 of UTF-8. */
export function basic(credentials: string): string {
  const bytes = new TextEncoder().encode(credentials);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** As curl encodes for a form: a space is `+`. */
export function encoded(text: string): string {
  return encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}
