// `{{expressions}}` in props of steps: JavaScript over `steps`, evaluated here, where code runs,
// never in the server.
import { wireError } from "./errors.ts";
import { JSON } from "./kept.ts";
import { masked } from "./masked.ts";

type Evaluate = (this: unknown, steps: unknown, process: unknown, event: unknown) => unknown;

const ENV = { env: {} };
const CACHE_MAX = 5000;
/** Characters that are compiled to find where one expression ends: each `}}` in it makes another try. */
const COMPILED_MAX = 4 << 20;
/** Characters of an expression that an error shows. */
const SHOWN_MAX = 80;

const shown = (text: string): string => (text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`);

/** An error of an expression. Its frame is the expression: no code's place says where it failed, and errors are grouped by their first frame. */
function failed<E extends Error>(error: E, source: string, where: string): E {
  error.stack = `${String(error)}\n    at ${masked(shown(source).replace(/\s+/g, " "))} (${where})`;
  return error;
}

const noThis = (): never => {
  throw new ReferenceError("this is not defined");
};
/** `this` of an expression. It would be undefined without a word, and what is written for a step's code would come out empty. */
const THIS = new Proxy({}, { get: noThis, has: noThis, ownKeys: noThis, getOwnPropertyDescriptor: noThis });

/** What may stand in place of a name that is not there. */
function allowedFor(message: string, steps: unknown): string {
  const name = /^(\S+) is not defined$/.exec(message)?.[1];
  if (name === undefined) return "";
  const isStep = steps !== null && typeof steps === "object" && Object.hasOwn(steps, name);
  const instead = isStep ? `write \`steps.${name}\` for the results of that step` : "a value of an event or step is named through `steps`, such as {{steps.trigger.event.id}}; quote what is text";
  return `. An expression knows \`steps\` and the names of JavaScript: ${instead}`;
}

const cache = new Map<string, Template>();

type Part = { text: string } | { source: string; evaluate: Evaluate };
interface Template {
  parts: Part[];
  /** The whole string is one expression: its value keeps its type. */
  single: boolean;
}

/** Evaluates all expressions in a value; errors name the prop and the step that it is of. Of a value that holds a secret they say nothing else: the expression, and what it throws, may have it. */
export function evaluate(value: unknown, steps: unknown, prop: string, step: string, secret = false): unknown {
  const where = `the prop \`${prop}\` of the step \`${step}\``;
  const all = (item: unknown): unknown => {
    if (typeof item === "string") return item.includes("{{") ? evaluateText(item, steps, where) : item;
    if (Array.isArray(item)) return item.map(all);
    if (item === null || typeof item !== "object") return item;
    return Object.fromEntries(Object.entries(item).map(([key, of]) => [key, all(of)]));
  };
  try {
    return all(value);
  } catch (error) {
    if (!secret) throw error;
    throw failed(new Error(`an expression in ${where} failed; neither it nor its error is shown, as the value holds a secret`), "{{…}}", where);
  }
}

/** Whether any string in a value is or holds an expression. */
export function holdsExpression(value: unknown): boolean {
  if (typeof value === "string") return value.includes("{{");
  return value !== null && typeof value === "object" && Object.values(value).some(holdsExpression);
}

function evaluateText(text: string, steps: unknown, where: string): unknown {
  let template = cache.get(text);
  if (!template) {
    template = parse(text, where);
    if (cache.size >= CACHE_MAX) cache.clear();
    cache.set(text, template);
  }
  const value = (part: Part): unknown => {
    if ("text" in part) return part.text;
    try {
      // `event` is what older workflows call the trigger's.
      const made = part.evaluate.call(THIS, steps, ENV, (steps as { trigger?: { event?: unknown } }).trigger?.event);
      return made === THIS ? noThis() : made;
    } catch (error) {
      const { name, message } = wireError(error);
      throw failed(new Error(`the expression {{${shown(part.source)}}} in ${where} failed: ${name}: ${message}${allowedFor(message, steps)}`, { cause: error }), `{{${part.source}}}`, where);
    }
  };
  if (template.single) return value(template.parts[0] as Part);
  return template.parts.map((part) => asText(value(part))).join("");
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** An expression ends at the first `}}` that leaves valid JavaScript: strings and objects in it may hold braces. */
function parse(text: string, where: string): Template {
  const parts: Part[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf("{{", at);
    if (open < 0) break;
    if (open > at) parts.push({ text: text.slice(at, open) });
    let close = text.indexOf("}}", open + 2);
    let failure: unknown = new SyntaxError("it is not closed by }}");
    let found: Part | undefined;
    let compiledLength = 0;
    while (close >= 0) {
      const source = text.slice(open + 2, close);
      compiledLength += source.length;
      if (compiledLength > COMPILED_MAX && compiledLength > source.length) {
        failure = new SyntaxError("it holds too many }} before its end; build the value in a step's code");
        break;
      }
      try {
        const compiled = new Function("steps", "process", "event", `"use strict"; return (${source}\n);`) as Evaluate;
        found = { source: source.trim(), evaluate: compiled };
        break;
      } catch (error) {
        failure = error;
        // Nested deeper than the engine reads; a longer text is, too.
        if (error instanceof RangeError) break;
        close = text.indexOf("}}", close + 1);
      }
    }
    if (!found) {
      const why = failure instanceof RangeError ? "it is nested too deep" : wireError(failure).message;
      throw failed(new SyntaxError(`the expression ${shown(text.slice(open))} in ${where} is not JavaScript: ${why}`), text.slice(open), where);
    }
    parts.push(found);
    at = close + 2;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return { parts, single: parts.length === 1 && !("text" in (parts[0] as Part)) };
}
