/** Names of steps that the code and the expressions of a step read: `steps.load`, `{{steps.load}}`. Pure, but for the parser. */

import type { SyntaxNode } from "@lezer/common";
import { isObject, type JsonObject } from "~/api/json";
import type { Draft, StepDraft } from "./model";

/** A name in `steps.name`, `steps["name"]` or `{ name } = steps`, and where it stands. */
export type Reference = {
  name: string;
  from: number;
  to: number;
  /** It also names a variable, which stays: `{ name }` becomes `{ other: name }`. */
  shorthand?: true;
};

/** Reads the references of one piece of code. */
export type Reader = (code: string) => Reference[];

export async function referenceReader(): Promise<Reader> {
  const { parser } = await import("@lezer/javascript");
  const reads = parser.configure({ dialect: "ts jsx" });
  return (code) => {
    // Another variable of this name is not the workflow's steps.
    if (!code.includes("steps") || /\b(?:const|let|var|function)\s+steps\b/.test(code)) return [];
    const found: Reference[] = [];
    reads.parse(code).iterate({
      enter({ name, node }) {
        if (name === "MemberExpression" && isSteps(node.firstChild, code)) {
          const part = node.lastChild;
          found.push(...named(part?.name === "]" ? part.prevSibling : part, code));
        }
        if (name !== "ObjectPattern" || !takesSteps(node, code)) return;
        for (const each of node.getChildren("PatternProperty")) {
          const first = each.firstChild;
          found.push(...named(first?.name === "[" ? first.nextSibling : first, code));
        }
      },
    });
    return found;
  };
}

/** Whether an expression is the variable `steps`, in parentheses or with a type or not. */
function isSteps(node: SyntaxNode | null, code: string): boolean {
  switch (node?.name) {
    case "VariableName":
      return code.slice(node.from, node.to) === "steps";
    case "ParenthesizedExpression":
      return isSteps(node.firstChild?.nextSibling ?? null, code);
    case "BinaryExpression":
    case "PostfixExpression":
      return isSteps(node.firstChild, code);
    default:
      return false;
  }
}

/** Whether `{ … }` takes parts of `steps`: of the variable, or of `steps` within parameters. */
function takesSteps({ parent, nextSibling }: SyntaxNode, code: string): boolean {
  if (parent?.name === "VariableDeclaration") {
    const equals = nextSibling?.name === "TypeAnnotation" ? nextSibling.nextSibling : nextSibling;
    return isSteps(equals?.nextSibling ?? null, code);
  }
  if (parent?.name === "AssignmentExpression") return isSteps(parent.lastChild, code);
  const of = parent?.name === "PatternProperty" ? parent.firstChild : null;
  const list = parent?.parent?.parent;
  return (
    of?.name === "PropertyName" &&
    code.slice(of.from, of.to) === "steps" &&
    list?.name === "ParamList" &&
    // Callbacks take other things that may have steps.
    list.parent?.parent?.name !== "ArgList"
  );
}

/** The name that a part of an expression or of a pattern spells, if it does. */
function named(node: SyntaxNode | null, code: string): Reference[] {
  if (node === null) return [];
  const { from, to } = node;
  switch (node.name) {
    case "PropertyName":
      return [{ name: code.slice(from, to), from, to }];
    case "VariableDefinition":
      return [{ name: code.slice(from, to), from, to, shorthand: true }];
    case "String":
    case "TemplateString":
      return node.getChild("Interpolation") === null
        ? [{ name: code.slice(from + 1, to - 1), from: from + 1, to: to - 1 }]
        : [];
    default:
      return [];
  }
}

const EXPRESSION = /\{\{([\s\S]*?)\}\}/g;

function ofText(read: Reader, text: string): Reference[] {
  return [...text.matchAll(EXPRESSION)].flatMap((found) =>
    read(found[1] ?? "").map((each) => ({
      ...each,
      from: each.from + found.index + 2,
      to: each.to + found.index + 2,
    })),
  );
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

/** Other files of a step that hold code. */
const CODE = /\.[cm]?[jt]sx?$/;

/** Texts of the code of a step: of the file that it begins in, and of the others. */
function codeOf(runs: StepDraft["runs"]): string[] {
  if (runs.kind !== "code") return [];
  const others = Object.entries(runs.files?.others ?? {}).filter(([path]) => CODE.test(path));
  return [runs.code, ...others.map(([, text]) => text)];
}

/** Names that a step reads, each once. */
export function namesReadBy(read: Reader, { runs, props }: Pick<StepDraft, "runs" | "props">) {
  const code = codeOf(runs).flatMap(read);
  const values = textsOf(props).flatMap((text) => ofText(read, text));
  return [...new Set([...code, ...values].map(({ name }) => name))];
}

/** A step that reads the result of one that has none by then. */
export type Dangling = { step: string; reads: string; why: "missing" | "later" | "off" };

export function danglingOf(read: Reader, { steps }: Pick<Draft, "steps">): Dangling[] {
  return steps.flatMap((step, at) => {
    if (step.disabled) return [];
    return namesReadBy(read, step).flatMap((name): Dangling[] => {
      if (name === "trigger") return [];
      const place = steps.findIndex(({ namespace }) => namespace === name);
      const of = { step: step.namespace, reads: name };
      if (place < 0) return [{ ...of, why: "missing" }];
      if (place >= at) return [{ ...of, why: "later" }];
      return steps[place]?.disabled ? [{ ...of, why: "off" }] : [];
    });
  });
}

function replaced(text: string, found: readonly Reference[], names: ReadonlyMap<string, string>) {
  let next = text;
  for (const { name, from, to, shorthand } of [...found].sort(
    (one, other) => other.from - one.from,
  )) {
    const given = names.get(name);
    if (given === undefined) continue;
    next = next.slice(0, from) + (shorthand ? `${given}: ${name}` : given) + next.slice(to);
  }
  return next;
}

/** A step that reads others by their new names; `names`: old name to new. */
export function withNames<T extends Pick<StepDraft, "runs" | "props">>(
  read: Reader,
  step: T,
  names: ReadonlyMap<string, string>,
): T {
  const inValue = (value: unknown): unknown => {
    if (typeof value === "string") return replaced(value, ofText(read, value), names);
    if (Array.isArray(value)) return value.map(inValue);
    return isObject(value) ? inObject(value) : value;
  };
  const inObject = (value: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inValue(each)]));
  if (!namesReadBy(read, step).some((name) => names.has(name))) return step;
  const inCode = (code: string) => replaced(code, read(code), names);
  return { ...step, runs: withCode(step.runs, inCode), props: inObject(step.props) };
}

function withCode(runs: StepDraft["runs"], inCode: (code: string) => string): StepDraft["runs"] {
  if (runs.kind !== "code") return runs;
  const code = inCode(runs.code);
  if (runs.files === undefined) return { ...runs, code };
  const others = Object.entries(runs.files.others).map(([path, text]) => [
    path,
    CODE.test(path) ? inCode(text) : text,
  ]);
  return { ...runs, code, files: { ...runs.files, others: Object.fromEntries(others) } };
}

/** A step under another name. The file that its code begins in follows where it has the old one. */
function withName(step: StepDraft, name: string): StepDraft {
  const { namespace, runs } = step;
  const renamed = { ...step, namespace: name };
  if (runs.kind !== "code" || runs.files === undefined) return renamed;
  const { files } = runs;
  const [, folder, ending] = /^(.*\/|)[^/]*?(\.[^/]*)$/.exec(files.entry) ?? [];
  if (files.entry !== `${folder}${namespace}${ending}`) return renamed;
  const entry = `${folder}${name}${ending}`;
  const isImported = Object.values(files.others).some((text) => text.includes(namespace + ending));
  if (isImported || files.others[entry] !== undefined) return renamed;
  return { ...renamed, runs: { ...runs, files: { ...files, entry } } };
}

/** The draft with a step under another name, which the steps that read it follow. */
export function renamed(read: Reader, draft: Draft, key: string, name: string): Draft {
  const old = draft.steps.find((step) => step.key === key)?.namespace;
  const names = new Map(old === undefined ? [] : [[old, name]]);
  return {
    ...draft,
    steps: draft.steps.map((step) =>
      step.key === key ? withName(step, name) : withNames(read, step, names),
    ),
  };
}
