/** What is pasted into the builder: a `curl` line, steps as workflow files have them. Pure, but for the parser of YAML. */

import { isObject, type JsonObject, objectOf, textOf } from "~/api/json";
import { noteOf, type StepDraft } from "./model";

export type PastedStep = Pick<StepDraft, "runs" | "props" | "disabled" | "note"> & {
  wish: string;
  secrets: string[];
};

/** Steps that the text is, or `undefined` where it is none. */
export async function pastedSteps(text: string): Promise<PastedStep[] | undefined> {
  const trimmed = text.trim();
  if (/^curl\s/.test(trimmed)) {
    const step = curlStep(trimmed);
    return step === undefined ? undefined : [step];
  }
  if (!/\b(code|component_key|steps)\s*["']?\s*:/.test(trimmed)) return undefined;
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return undefined;
  }
  const given = isObject(value) && Array.isArray(value.steps) ? value.steps : listOrOne(value);
  const steps = given.flatMap(stepOf);
  return steps.length === 0 || steps.length < given.length ? undefined : steps;
}

function listOrOne(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function stepOf(given: unknown): PastedStep[] {
  if (!isObject(given)) return [];
  const code = textOf(given.code);
  const key = textOf(given.component_key) ?? textOf(given.key);
  if (code === undefined && key === undefined) return [];
  return [
    {
      wish: textOf(given.namespace) ?? key?.replaceAll("-", "_") ?? "code",
      runs: code === undefined ? { kind: "action", component: key ?? "" } : { kind: "code", code },
      // Values from the environment are nobody's here.
      props: Object.fromEntries(
        Object.entries(objectOf(given.props)).filter(
          ([, value]) => !(isObject(value) && "$env" in value),
        ),
      ),
      secrets: [],
      disabled: given.disabled === true,
      ...noteOf(given.note),
    },
  ];
}

/** A step as workflow files have it; values of secrets are not in it. */
export function stepYaml(step: StepDraft): string {
  const { secrets = [] } = step;
  const props = Object.entries(step.props).filter(([name]) => !secrets.includes(name));
  const lines = [`namespace: ${step.namespace}`];
  if (step.runs.kind === "action")
    lines.push(`component_key: ${JSON.stringify(step.runs.component)}`);
  else {
    const code = step.runs.code.replace(/\n+$/, "");
    lines.push("code: |2", ...code.split("\n").map((line) => (line === "" ? "" : `  ${line}`)));
  }
  if (props.length > 0) {
    lines.push("props:");
    // JSON is YAML, too.
    for (const [name, value] of props)
      lines.push(`  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  if (step.disabled) lines.push("disabled: true");
  if (step.note !== undefined) lines.push(`note: ${JSON.stringify(step.note)}`);
  return `${lines.join("\n")}\n`;
}

/** Words of a command line, as a shell has them. */
export function shellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (sign === "'" || sign === '"') {
      word ??= "";
      for (at += 1; at < line.length && line.charAt(at) !== sign; at += 1) {
        if (sign === '"' && line.charAt(at) === "\\" && /["\\$`\n]/.test(line.charAt(at + 1)))
          at += 1;
        word += line.charAt(at);
      }
    } else if (sign === "\\") {
      at += 1;
      if (line.charAt(at) !== "\n") word = (word ?? "") + line.charAt(at);
    } else if (/\s/.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + sign;
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** Options of `curl` that take a value and change nothing of the request that a step would make. */
const IGNORED = [
  "-o",
  "--output",
  "-m",
  "--max-time",
  "--connect-timeout",
  "--retry",
  "-w",
  "--write-out",
];

const dataOptions = ["-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"];

/** A request as `curl` would make it, as a step of code; what `Authorization` says becomes a secret. */
export function curlStep(line: string): PastedStep | undefined {
  const words = shellWords(line).slice(1);
  const headers: Record<string, string> = {};
  const data: string[] = [];
  let [url, method, secret]: (string | undefined)[] = [];
  const next = (at: number, inline: string | undefined) => inline ?? words[at + 1] ?? "";
  for (let at = 0; at < words.length; at += 1) {
    const whole = words[at] ?? "";
    const joined = /^(--[a-z-]+)=(.*)$/s.exec(whole) ?? /^(-[XHdu])(.+)$/s.exec(whole);
    const word = joined?.[1] ?? whole;
    const inline = joined?.[2];
    const value = next(at, inline);
    const takes = () => {
      if (inline === undefined) at += 1;
    };
    if (["-X", "--request"].includes(word)) {
      method = value.toUpperCase();
      takes();
    } else if (["-H", "--header"].includes(word)) {
      const [, name = "", text = ""] = /^([^:]+):\s*(.*)$/s.exec(value) ?? [];
      if (name.toLowerCase() === "authorization") secret = text;
      else if (name !== "") headers[name] = text;
      takes();
    } else if (dataOptions.includes(word)) {
      data.push(value);
      if (word === "--json") headers["Content-Type"] ??= "application/json";
      takes();
    } else if (["-u", "--user"].includes(word)) {
      secret = `Basic ${btoa(value)}`;
      takes();
    } else if (word === "--url") {
      url = value;
      takes();
    } else if (IGNORED.includes(word)) takes();
    else if (!word.startsWith("-")) url ??= word;
  }
  if (url === undefined || !/^https?:\/\/|^[\w.-]+(:\d+)?(\/|$)/.test(url)) return undefined;
  return requestStep({
    url: /^https?:\/\//.test(url) ? url : `http://${url}`,
    method: method ?? (data.length > 0 ? "POST" : "GET"),
    headers,
    data: data.length > 0 ? data.join("&") : undefined,
    secret,
  });
}

function requestStep(asked: {
  url: string;
  method: string;
  headers: Record<string, string>;
  data: string | undefined;
  secret: string | undefined;
}): PastedStep {
  const { url, method, headers, secret } = asked;
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type");
  const isJson = type?.[1].includes("json") ?? false;
  const fields = [`method: ${JSON.stringify(method)},`, `url: ${JSON.stringify(url)},`];
  const heads = Object.entries(headers).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  if (secret !== undefined) heads.push("Authorization: this.authorization,");
  if (heads.length > 0) fields.push("headers: {", ...heads.map((head) => `  ${head}`), "},");
  if (asked.data !== undefined) {
    const value = isJson ? jsonOf(asked.data) : undefined;
    const text = value === undefined ? JSON.stringify(asked.data) : JSON.stringify(value, null, 2);
    fields.push(...`data: ${text},`.split("\n"));
  }
  const code = `import { axios } from "@pipedream/platform";

export default defineComponent({
${secret === undefined ? "" : '  props: {\n    authorization: { type: "string", label: "Authorization", secret: true },\n  },\n'}  async run({ steps, $ }) {
    return await axios($, {
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

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
