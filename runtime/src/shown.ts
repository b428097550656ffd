// Props of a step as its run shows them, after expressions: bounded, and without credentials.
import { isCredentialName } from "./credential_names.ts";
import { JSON } from "./kept.ts";
import { isObject, type ResolvedProp } from "./props.ts";
import type { Bag } from "./types.ts";

/** Characters of one value, and of all. */
const VALUE_MAX = 4096;
const ALL_MAX = 16_384;
/** Characters that are shown of a longer text. */
const PREVIEW = 500;

/** JSON text of an object; undefined where there is nothing to show. */
export function shownProps(defs: ResolvedProp[], values: Bag): string | undefined {
  let text = "";
  for (const { name, type, definition } of defs) {
    // Interfaces and services are no values of the user's.
    if (!Object.hasOwn(values, name) || values[name] === undefined || type.startsWith("$.")) continue;
    let value: string | undefined;
    if (type === "app") value = `{"$account":true}`;
    else if (definition["secret"] === true) value = `{"$secret":true}`;
    else value = shownValue(values[name], Math.min(VALUE_MAX, ALL_MAX - text.length), type === "http_request" ? hideCredentials : hide);
    if (value !== undefined) text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${value}`;
  }
  return text === "" ? undefined : `${text}}`;
}

const hide = (key: string, value: unknown): unknown => (key === "$auth" ? undefined : value);

function hideCredentials(key: string, value: unknown): unknown {
  if (key === "auth" || key === "$auth") return undefined;
  const isCredential = isObject(value) && typeof value["name"] === "string" && isCredentialName(value["name"]);
  return isCredential ? { ...(value as Bag), value: { $secret: true } } : value;
}

function shownValue(value: unknown, max: number, without: (key: string, value: unknown) => unknown): string | undefined {
  try {
    if (typeof value === "string" && value.length > max) {
      return `{"$truncated":true,"$chars":${value.length},"$preview":${JSON.stringify(value.slice(0, PREVIEW))}}`;
    }
    // A large value is not written only to be cut.
    if (size(value, max) > max) return `{"$truncated":true}`;
    const text = JSON.stringify(value, without);
    return text !== undefined && text.length > max ? `{"$truncated":true}` : text;
  } catch {
    // What a getter throws, or JSON has no word for, is the code's own matter.
    return undefined;
  }
}

/** About how many characters the value takes, no further than `max`. */
function size(value: unknown, max: number): number {
  let total = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0 && total <= max) {
    const one = rest.pop();
    total += typeof one === "string" ? one.length + 2 : 4;
    if (Array.isArray(one)) {
      total += one.length;
      if (total <= max) rest.push(...(one as unknown[]));
    } else if (isObject(one)) {
      for (const key in one) {
        total += key.length + 4;
        if (total > max) break;
        rest.push(one[key]);
      }
    }
  }
  return total;
}
