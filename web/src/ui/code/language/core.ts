/** Completion, hover and problems of one file of code, by TypeScript's language service. Runs in the worker; pure but for its cache. */

import type ts from "typescript";

/** Declarations that the code is read with, by their paths. */
export type TypeFiles = Readonly<Record<string, string>>;

export type Suggestion = { label: string; kind: string; order: string };
export type Problem = {
  line: number;
  from: number;
  to: number;
  message: string;
  /** The code cannot be read; else it can, and probably does not do what is meant. */
  fatal: boolean;
};
export type Says = { from: number; to: number; type: string; about: string };
export type Change = { from: number; to: number; insert: string };

export type Answers = {
  complete: Suggestion[];
  explain: Says | null;
  hover: Says | null;
  diagnose: Problem[];
  /** Line of the first thing that is neither JavaScript nor TypeScript. */
  unreadable: number | null;
  format: Change[];
};
export type Question =
  | { kind: "complete"; at: number }
  | { kind: "explain"; at: number; name: string }
  | { kind: "hover"; at: number }
  | { kind: "diagnose" }
  | { kind: "unreadable" }
  | { kind: "format" };

const JS = "/code/step.mjs";
const TS = "/code/step.mts";
/** Types in code that is read as JavaScript: it is TypeScript then. */
const ONLY_IN_TYPESCRIPT = { from: 8002, to: 8016 };
const SUGGESTIONS_MOST = 300;

/** Operands that are converted, such as `new Date() - start`: JavaScript allows them, and people mean it. */
const CONVERTED = new Set([2362, 2363, 2365]);

/** Syntax of TypeScript that files named `.mts` leave to JSX; the bundler reads it. */
const RESERVED = new Set([7059, 7060]);

const isTypeScript = (code: number) =>
  code >= ONLY_IN_TYPESCRIPT.from && code <= ONLY_IN_TYPESCRIPT.to;

export function languageService(
  compiler: typeof ts,
  libraries: Readonly<Record<string, string>>,
): {
  setTypes: (types: TypeFiles) => void;
  ask: (code: string, question: Question) => Answers[Question["kind"]];
} {
  let types: TypeFiles = {};
  let typesVersion = 0;
  let code = "";
  let version = 0;
  let name = JS;
  const libraryAt = (path: string) => libraries[path.slice(path.lastIndexOf("/") + 1)];
  const textOf = (path: string): string | undefined => {
    if (path === JS || path === TS) return path === name ? code : undefined;
    return types[path] ?? (path.startsWith("/lib/") ? libraryAt(path) : undefined);
  };
  const options: ts.CompilerOptions = {
    allowJs: true,
    checkJs: true,
    strictBindCallApply: true,
    noImplicitAny: false,
    useUnknownInCatchVariables: false,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    lib: ["lib.es2023.d.ts"],
    target: compiler.ScriptTarget.ES2023,
    module: compiler.ModuleKind.ESNext,
    moduleResolution: compiler.ModuleResolutionKind.Bundler,
    moduleDetection: compiler.ModuleDetectionKind.Force,
    paths: {
      "@pipedream/types": ["/types/index.d.ts"],
      "@pipedream/platform": ["/types/platform.d.ts"],
    },
  };
  const service = compiler.createLanguageService({
    // Plain JavaScript has no way to say that what may be missing is there: `text.match(/a/)[0]`.
    getCompilationSettings: () => ({ ...options, strictNullChecks: name === TS }),
    getScriptFileNames: () => [...Object.keys(types), name],
    getScriptVersion: (path) => {
      if (path === name) return String(version);
      return path.startsWith("/lib/") ? "1" : String(typesVersion);
    },
    getScriptSnapshot: (path) => {
      const text = textOf(path);
      return text === undefined ? undefined : compiler.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => "/code",
    getDefaultLibFileName: () => "/lib/lib.es2023.d.ts",
    fileExists: (path) => textOf(path) !== undefined,
    readFile: textOf,
    directoryExists: () => true,
    getDirectories: () => [],
  });

  const take = (next: string) => {
    if (next !== code) {
      code = next;
      version += 1;
    }
    for (const each of [JS, TS]) {
      name = each;
      const found = service.getSyntacticDiagnostics(name);
      if (!found.some((problem) => isTypeScript(problem.code))) return;
    }
  };
  const complete = (at: number): Suggestion[] => {
    const found = service.getCompletionsAtPosition(name, at, {
      includeCompletionsWithInsertText: false,
    });
    return (found?.entries ?? [])
      .filter(({ kind }) => kind !== "warning")
      .slice(0, SUGGESTIONS_MOST)
      .map(({ name, kind, sortText }) => ({ label: name, kind, order: sortText }));
  };
  const lineOf = (start = 0) => code.slice(0, start).split("\n").length;
  const says = (
    span: { start: number; length: number },
    parts: readonly ts.SymbolDisplayPart[] | undefined,
    about: readonly ts.SymbolDisplayPart[] | undefined,
  ): Says => ({
    from: span.start,
    to: span.start + span.length,
    type: compiler.displayPartsToString([...(parts ?? [])]),
    about: compiler.displayPartsToString([...(about ?? [])]),
  });

  return {
    setTypes(next) {
      types = next;
      typesVersion += 1;
    },
    ask(next, question) {
      take(next);
      switch (question.kind) {
        case "complete":
          return complete(question.at);
        case "explain": {
          const found = service.getCompletionEntryDetails(
            name,
            question.at,
            question.name,
            undefined,
            undefined,
            undefined,
            undefined,
          );
          return found === undefined
            ? null
            : says({ start: question.at, length: 0 }, found.displayParts, found.documentation);
        }
        case "hover": {
          const found = service.getQuickInfoAtPosition(name, question.at);
          return found === undefined
            ? null
            : says(found.textSpan, found.displayParts, found.documentation);
        }
        case "diagnose": {
          const read = service.getSyntacticDiagnostics(name);
          // Code that is half typed has other problems than those of what it will say.
          const meant = read.length > 0 ? [] : service.getSemanticDiagnostics(name);
          return [...read, ...meant]
            .filter(({ category }) => category === compiler.DiagnosticCategory.Error)
            .filter(({ code }) => name === TS || !CONVERTED.has(code))
            .map((each) => ({
              line: lineOf(each.start),
              from: each.start ?? 0,
              to: (each.start ?? 0) + (each.length ?? 0),
              message: compiler.flattenDiagnosticMessageText(each.messageText, "\n"),
              fatal: read.some((other) => other === each),
            }));
        }
        case "unreadable": {
          let line: number | null = null;
          // What begins as an element of JSX may be an assertion of TypeScript: `<const>[1]`.
          for (const each of [JS, TS]) {
            name = each;
            const first = service
              .getSyntacticDiagnostics(name)
              .find((problem) => !RESERVED.has(problem.code));
            if (first === undefined) return null;
            line = lineOf(first.start);
          }
          return line;
        }
        case "format":
          return service
            .getFormattingEditsForDocument(name, {
              ...compiler.getDefaultFormatCodeSettings("\n"),
              indentSize: 2,
              tabSize: 2,
            })
            .map(({ span, newText }) => ({
              from: span.start,
              to: span.start + span.length,
              insert: newText,
            }));
      }
    },
  };
}
