// Codecs of the payloads that `$.send.*` accepts, with the few members that code uses: `name`,
// `is`, `decode`, `validate`, `encode`.

export const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"] as const;

export interface Problem {
  value: unknown;
  context: { key: string; type: { name: string }; actual: unknown }[];
  message: string;
}
export type Decoded = { _tag: "Right"; right: unknown } | { _tag: "Left"; left: Problem[] };

type Check = (value: unknown) => boolean;
interface Field {
  check: Check;
  optional: boolean;
}

const isRecord = (value: unknown): boolean => value !== null && typeof value === "object" && !Array.isArray(value);
const isString: Check = (value) => typeof value === "string";
const isObject: Check = (value) => value !== null && typeof value === "object";
const anything: Check = (value) => value !== undefined;
const oneOrMany: Check = (value) => isString(value) || (Array.isArray(value) && value.every(isString));
const need = (check: Check): Field => ({ check, optional: false });
const may = (check: Check): Field => ({ check, optional: true });

export class SendConfig {
  readonly name: string;
  readonly #fields: Record<string, Field>;

  constructor(name: string, ...fields: Record<string, Field>[]) {
    this.name = name;
    this.#fields = Object.assign({}, ...fields) as Record<string, Field>;
  }

  is = (value: unknown): boolean => this.#problems(value).length === 0;

  decode = (value: unknown): Decoded => {
    const left = this.#problems(value);
    return left.length === 0 ? { _tag: "Right", right: value } : { _tag: "Left", left };
  };

  validate = (value: unknown, _context?: unknown): Decoded => this.decode(value);

  encode = (value: unknown): unknown => value;

  #problems(value: unknown): Problem[] {
    const problem = (key: string, actual: unknown): Problem => ({
      value: actual,
      context: [{ key: "", type: { name: this.name }, actual: value }, ...(key === "" ? [] : [{ key, type: { name: key }, actual }])],
      message: `invalid value ${shown(actual)}${key === "" ? "" : ` for ${key}`}`,
    });
    if (!isRecord(value)) return [problem("", value)];
    const given = value as Record<string, unknown>;
    return Object.entries(this.#fields).flatMap(([key, field]) => {
      const actual = given[key];
      return (actual === undefined && field.optional) || field.check(actual) ? [] : [problem(key, actual)];
    });
  }
}

function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === "string" ? value : JSON.stringify(value);
  } catch {
    text = undefined;
  }
  text ??= String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

const emitRequired = { raw_event: need(isObject) };
const emitOptional = { event: may(isObject), name: may(isString) };

export const SendConfigEmit_required = new SendConfig("SendConfigEmit_required", emitRequired);
export const SendConfigEmit_optional = new SendConfig("SendConfigEmit_optional", emitOptional);
export const SendConfigEmit = new SendConfig("SendConfigEmit", emitRequired, emitOptional);
export const SendConfigEmail = new SendConfig("SendConfigEmail", { subject: need(isString), text: may(isString), html: may(isString), to: may(oneOrMany) });
export const SendConfigHTTP = new SendConfig("SendConfigHTTP", {
  method: may((value) => (HTTP_METHODS as readonly unknown[]).includes(value)),
  url: need(isString),
  data: may(anything),
  headers: may(isRecord),
  params: may(isRecord),
  auth: may((value) => isRecord(value) && isString((value as { username?: unknown }).username) && isString((value as { password?: unknown }).password)),
});
export const SendConfigS3 = new SendConfig("SendConfigS3", { bucket: need(isString), prefix: need(isString), payload: need((value) => isString(value) || isObject(value)) });
export const SendConfigSSE = new SendConfig("SendConfigSSE", { channel: need(isString), payload: need(anything) });
export const SendConfigSQL = new SendConfig("SendConfigSQL", { payload: need(anything), table: need(isString) });
export const SendConfigSnowflake = new SendConfig("SendConfigSnowflake", {
  account: need(isString),
  database: need(isString),
  host: may(isString),
  payload: need(anything),
  pipe_name: need(isString),
  private_key: need(isString),
  schema: need(isString),
  user: need(isString),
});

export const sendTypeMap = {
  emit: SendConfigEmit,
  email: SendConfigEmail,
  http: SendConfigHTTP,
  s3: SendConfigS3,
  sql: SendConfigSQL,
  snowflake: SendConfigSnowflake,
  sse: SendConfigSSE,
};

type Checker = (config: unknown) => void;

/** By destination: throws where the configuration is not what it accepts. */
export const $sendConfigRuntimeTypeChecker = Object.fromEntries(
  Object.entries(sendTypeMap).map(([name, type]): [string, Checker] => [
    name,
    (config) => {
      const decoded = type.decode(config);
      if (decoded._tag === "Left") throw new TypeError(decoded.left.map((problem) => `$send.${name}: ${problem.message}`).join("\n"));
    },
  ]),
) as Record<keyof typeof sendTypeMap, Checker>;
