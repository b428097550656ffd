/** A pasted `curl` line as a step of code that makes the same request. Pure. */

import { isObject, type JsonObject } from "~/api/json";
import { type Option, optionsOf, withInput, withoutInput } from "./curl-options";
import { basic, encoded } from "./curl-text";
import type { PastedStep } from "./paste";
import { commandOf } from "./shell-words";

export type FromCurl =
  /** `notes`: what the line asks for and the step does not do. */
  { step: PastedStep; notes: string[] } | { problem: string };

/** What stands before `curl` in documents: a prompt, variables, a comment. */
const BEFORE =
  /^(?:\s*(?:[$%>]\s|```\w*\n|sudo\s(?:-E\s)?|time\s|(?:export\s+)?\w+=\S*[\s;]|#[^\n]*\n))*\s*(?:\/\S*\/(?=curl\s))?/;

/** Signs that a text program puts in the place of quotes and dashes. */
const TYPOGRAPHIC = /[\u201c\u201d\u201e\u2018\u2019]|(?<=\s)[\u2013\u2014](?=[A-Za-z-])/;

/** The line without what stands around it in documents. */
function bare(text: string): string {
  return text.replace(BEFORE, "").replace(/\n```\s*$/, "\n");
}

export function isCurl(text: string): boolean {
  return /^curl(?:\.exe)?\s/i.test(bare(text));
}

export function curlStep(text: string): FromCurl {
  const { line, input } = withoutInput(bare(text).replaceAll("\r\n", "\n"));
  const [sign] = TYPOGRAPHIC.exec(line) ?? [];
  const { words, expands, hasMore: hasSecond } = commandOf(line);
  const parsed = optionsOf(words.slice(1));
  if ("problem" in parsed) return parsed;
  const { options, addresses, hasMore } = parsed;
  const asked = new Asked();
  for (const option of options) asked.take(withInput(option, input));
  const [given, ...others] = [...asked.addresses, ...addresses];
  const address = given === undefined ? undefined : addressOf(given);
  if (address === undefined) {
    return {
      problem:
        given === undefined
          ? "The curl command has no URL."
          : `${given} is not an http:// or https:// URL.`,
    };
  }
  if (!asked.has("globoff") && /\{[^{}]*,[^{}]*\}|\[\w+-\w+(?::\d+)?\]/.test(given ?? "")) {
    return { problem: `${given} stands for several requests: paste one of them.` };
  }
  if (asked.files.length > 0) {
    return {
      problem: `${listed(asked.files)} cannot be read here: write the content into the command.`,
    };
  }
  if (address.username !== "" || address.password !== "") {
    const [user, password] = [address.username, address.password].map(decodedName);
    if (asked.scheme === undefined) asked.secret ??= basic(`${user}:${password}`);
    address.username = "";
    address.password = "";
  }
  const notes = [
    ...(asked.untaken.length > 0 ? [`Ignored: ${listed(asked.untaken)}.`] : []),
    ...(others.length > 0 || hasMore || hasSecond ? ["Only the first request is used."] : []),
    ...(asked.scheme === undefined
      ? []
      : [`The user and the password are not sent: ${asked.scheme} is not Basic.`]),
    ...(sign === undefined ? [] : [`Use plain quotes and dashes instead of ${sign}.`]),
    ...(expands.length > 0 ? [`Replace ${listed(expands)} with its value.`] : []),
  ];
  return { step: asked.step(urlOf(given ?? "", address, asked.query)), notes };
}

function listed(names: readonly string[]): string {
  return [...new Set(names)].join(", ");
}

function addressOf(given: string): URL | undefined {
  const [scheme] = /^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(given) ?? ["http"];
  if (!/^https?$/i.test(scheme)) return undefined;
  try {
    return new URL(/^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`);
  } catch {
    return undefined;
  }
}

/** The address as it was written, but for credentials and what is added to the query. */
function urlOf(given: string, address: URL, query: readonly string[]): string {
  const whole = given.includes("://") ? given : `http://${given}`;
  const hasUser = /^[a-z]+:\/\/[^/?#]*@/i.test(whole);
  const plain = hasUser ? address.href : whole.replace(/#.*$/s, "");
  if (query.length === 0) return plain;
  return `${plain}${plain.includes("?") ? "&" : "?"}${query.join("&")}`;
}

function decodedName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type FormField = { name: string; value: string; type?: string; filename?: string };

/** Headers that a step sends by itself; `false` keeps one back. */
const OF_AXIOS = ["accept", "content-type", "user-agent"];

/** What the options of a line ask for, in their order. */
class Asked {
  readonly addresses: string[] = [];
  readonly query: string[] = [];
  /** Options that a step cannot follow, as they were written. */
  readonly untaken: string[] = [];
  /** Options that name a file, as they were written. */
  readonly files: string[] = [];
  secret: string | undefined;
  private user: string | undefined;
  private method: string | undefined;
  private body: string | undefined;
  /** An option by which curl proves the password in another way than Basic. */
  scheme: string | undefined;
  private readonly form: FormField[] = [];
  private readonly cookies: string[] = [];
  private readonly defaults: [name: string, value: string][] = [];
  private readonly names = new Set<string>();
  private readonly headers = new Map<string, { name: string; values: (string | false)[] }>();

  has(name: string): boolean {
    return this.names.has(name);
  }

  take(option: Option): void {
    const { name, written, value, isQuiet } = option;
    this.names.add(name);
    switch (name) {
      case "url":
        this.addresses.push(value);
        break;
      case "request":
        this.method = value.toUpperCase();
        break;
      case "head":
      case "get":
      case "globoff":
        break;
      case "header":
        if (value.startsWith("@")) this.files.push(`${written} ${value}`);
        else this.header(value);
        break;
      case "user":
        this.user = basic(value.includes(":") ? value : `${value}:`);
        break;
      case "oauth2-bearer":
        this.user = `Bearer ${value}`;
        break;
      case "user-agent":
        this.defaults.push(["User-Agent", value]);
        break;
      case "referer":
        this.defaults.push(["Referer", value.replace(/;auto$/, "")]);
        break;
      case "range":
        this.defaults.push(["Range", `bytes=${value}`]);
        break;
      case "digest":
      case "ntlm":
      case "ntlm-wb":
      case "negotiate":
      case "aws-sigv4":
        this.scheme = written;
        this.untaken.push(written);
        break;
      case "cookie":
        if (value.includes("=")) this.cookies.push(value);
        else this.files.push(`${written} ${value}`);
        break;
      case "url-query":
        this.query.push(value.startsWith("+") ? value.slice(1) : this.formEncoded(option));
        break;
      case "upload-file":
        this.files.push(`${written} ${value}`);
        break;
      default:
        if (!this.takeBody(option) && !isQuiet) this.untaken.push(written);
    }
  }

  /** Whether the option is of the body. */
  private takeBody(option: Option): boolean {
    const { name, written, value } = option;
    switch (name) {
      case "data":
      case "data-ascii":
      case "data-binary":
        if (value.startsWith("@")) this.files.push(`${written} ${value}`);
        this.add(value);
        return true;
      case "data-raw":
        this.add(value);
        return true;
      case "data-urlencode":
        this.add(this.formEncoded(option));
        return true;
      case "json":
        if (value.startsWith("@")) this.files.push(`${written} ${value}`);
        this.body = (this.body ?? "") + value;
        return true;
      case "form":
        this.field(option);
        return true;
      case "form-string": {
        const [, field = "", text = ""] = /^([^=]*)=?(.*)$/s.exec(value) ?? [];
        this.form.push({ name: field, value: text });
        return true;
      }
      default:
        return false;
    }
  }

  private add(text: string): void {
    this.body = this.body === undefined ? text : `${this.body}&${text}`;
  }

  /** `content`, `=content`, `name=content`, or a file: `@file`, `name@file`. */
  private formEncoded({ written, value }: Option): string {
    const [, name = "", sign, text = ""] = /^([^=@]*)([=@])(.*)$/s.exec(value) ?? [];
    if (sign === undefined) return encoded(value);
    if (sign === "@") this.files.push(`${written} ${value}`);
    return name === "" ? encoded(text) : `${name}=${encoded(text)}`;
  }

  private field({ written, value }: Option): void {
    const [, name = "", given = ""] = /^([^=]*)=?(.*)$/s.exec(value) ?? [];
    if (/^[@<]/.test(given)) {
      this.files.push(`${written} ${value}`);
      return;
    }
    const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(given);
    const end = given.search(/;\s*(?:type|filename|encoder|headers)=/);
    const plain = end < 0 ? given : given.slice(0, end);
    const rest = given.slice(quoted?.[0].length ?? plain.length);
    const part = (of: string) => new RegExp(`;\\s*${of}="?([^";]*)`).exec(rest)?.[1];
    const type = /;\s*type=([^;]*(?:;\s*charset=[^;]*)?)/.exec(rest)?.[1];
    const filename = part("filename");
    // A form of the step gives each part of a type a file name, which curl does not.
    if (type !== undefined && filename === undefined) this.untaken.push(`type=${type} of ${name}`);
    this.form.push({
      name,
      value: quoted?.[1]?.replaceAll(/\\([\\"])/g, "$1") ?? plain,
      ...(type === undefined || filename === undefined ? {} : { type }),
      ...(filename === undefined ? {} : { filename }),
    });
  }

  /** `Name: value`; `Name:` keeps the header back; `Name;` has no value. */
  private header(line: string): void {
    const [, name = "", sign, text = ""] = /^([^:;]+)([:;])\s*(.*)$/s.exec(line) ?? [];
    if (name === "" || (sign === ";" && text !== "")) return;
    const value = text.trimEnd();
    if (name.toLowerCase() === "authorization") this.secret = value;
    else this.put(name, sign === ":" && value === "" ? false : value);
  }

  private put(name: string, value: string | false): void {
    const known = this.headers.get(name.toLowerCase());
    this.headers.set(name.toLowerCase(), {
      name: known?.name ?? name,
      values: [...(known?.values ?? []), value].filter(
        (each, _, all) => each !== false || all.length === 1,
      ),
    });
  }

  /** Headers that were written out go before those of an option. */
  private fallback(name: string, value: string): void {
    if (!this.headers.has(name.toLowerCase())) this.put(name, value);
  }

  step(url: string): PastedStep {
    const isJson = this.has("json");
    for (const [name, value] of this.defaults) this.fallback(name, value);
    // As curl does: a header that was written out goes before all cookies of options.
    if (this.cookies.length > 0) this.fallback("Cookie", this.cookies.join("; "));
    if (isJson) this.fallback("Accept", "application/json");
    const isQuery = this.has("get") && this.body !== undefined;
    const whole = isQuery ? `${url}${url.includes("?") ? "&" : "?"}${this.body}` : url;
    const body = isQuery ? undefined : this.body;
    if (body !== undefined)
      this.fallback(
        "Content-Type",
        isJson ? "application/json" : "application/x-www-form-urlencoded",
      );
    const posts = body !== undefined || this.form.length > 0;
    const method = this.method ?? (this.has("head") ? "HEAD" : posts ? "POST" : "GET");
    return requestStep({
      url: whole,
      method,
      headers: [...this.headers.values()].flatMap(({ name, values }) => headerLine(name, values)),
      type: this.headers.get("content-type")?.values.join() ?? "",
      body,
      form: this.form,
      secret: this.secret ?? (this.scheme === undefined ? this.user : undefined),
    });
  }
}

function headerLine(name: string, values: readonly (string | false)[]): string[] {
  const isOfAxios = OF_AXIOS.includes(name.toLowerCase());
  const [first] = values;
  if (first === undefined || (first === false && !isOfAxios)) return [];
  const value =
    name.toLowerCase() === "cookie" ? values.join("; ") : values.length > 1 ? values : first;
  return [`${JSON.stringify(name)}: ${JSON.stringify(value)},`];
}

function requestStep(asked: {
  url: string;
  method: string;
  headers: readonly string[];
  /** Type of the body. */
  type: string;
  body: string | undefined;
  form: readonly FormField[];
  secret: string | undefined;
}): PastedStep {
  const { url, method, secret, body } = asked;
  const form = body === undefined ? asked.form : [];
  const fields = [`method: ${JSON.stringify(method)},`, `url: ${JSON.stringify(url)},`];
  const heads = [...asked.headers];
  if (secret !== undefined) heads.push("Authorization: this.authorization,");
  if (heads.length > 0) fields.push("headers: {", ...heads.map((head) => `  ${head}`), "},");
  if (body !== undefined) fields.push(...bodyLines(body, asked.type));
  if (form.length > 0) fields.push("data: form,");
  const begin = form.length === 0 ? [] : ["const form = new FormData();", ...form.map(formLine)];
  const code = `import { axios } from "@pipedream/platform";

export default defineComponent({
${secret === undefined ? "" : '  props: {\n    authorization: { type: "string", label: "Authorization", secret: true },\n  },\n'}  async run({ steps, $ }) {
${begin.map((line) => `    ${line}\n`).join("")}    return await axios($, {
${fields.map((field) => `      ${field}`).join("\n")}
    });
  },
});
`;
  const props: JsonObject = secret === undefined ? {} : { authorization: secret };
  return {
    wish: "request",
    runs: { kind: "code", code },
    props,
    secrets: Object.keys(props),
    disabled: false,
  };
}

function formLine({ name, value, type, filename }: FormField): string {
  const text = JSON.stringify(value);
  const options = type === undefined ? "" : `, { type: ${JSON.stringify(type)} }`;
  if (filename === undefined) return `form.append(${JSON.stringify(name)}, ${text});`;
  const file = `new Blob([${text}]${options}), ${JSON.stringify(filename)}`;
  return `form.append(${JSON.stringify(name)}, ${file});`;
}

function bodyLines(body: string, type: string): string[] {
  const value = type.includes("json") ? literalOf(body) : undefined;
  if (value !== undefined) return `data: ${JSON.stringify(value, null, 2)},`.split("\n");
  const lines = [`data: ${JSON.stringify(body)},`];
  // axios would write a text of this type that is no JSON as JSON.
  if (type.includes("application/json") && jsonOf(body) === undefined)
    lines.push("transformRequest: (data) => data,");
  return lines;
}

/** A body whose every digit and name is the same when it is written again as a literal of code. */
function literalOf(text: string): unknown {
  const value = jsonOf(text);
  if (!isObject(value) && !Array.isArray(value)) return undefined;
  const compact = text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
  return compact === JSON.stringify(value) && !text.includes('"__proto__"') ? value : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
