/** Editor extension of the language service; loaded with the first focus. */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { forceLinting, linter, lintKeymap } from "@codemirror/lint";
import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, hoverTooltip, keymap, showTooltip } from "@codemirror/view";
import { openLanguage } from "./client";
import type { Problem, Says, TypeFiles } from "./core";

const WAIT_MS = 500;

export type Given = {
  types: () => Promise<TypeFiles>;
  onProblems: (problems: readonly Problem[]) => void;
  /** It cannot be had. */
  onFailed: () => void;
};

export type Language = {
  extension: Extension;
  complete: (
    context: CompletionContext,
    known: ReadonlySet<string>,
  ) => Promise<CompletionResult | null>;
  format: (view: EditorView) => Promise<void>;
  /** The types changed without an edit. */
  lintAgain: (view: EditorView) => void;
  release: () => void;
};

const KINDS: Readonly<Record<string, string>> = {
  method: "function",
  function: "function",
  property: "property",
  getter: "property",
  const: "variable",
  let: "variable",
  var: "variable",
  parameter: "variable",
  keyword: "keyword",
};

const setSays = StateEffect.define<Says | null>();

/** What the name at the cursor is, asked for by a key: a pointer is not needed. */
const saysField = StateField.define<Says | null>({
  create: () => null,
  update(shown, { effects, docChanged, selection }) {
    const effect = effects.find((each) => each.is(setSays));
    if (effect !== undefined) return effect.value;
    return docChanged || selection !== undefined ? null : shown;
  },
  provide: (field) =>
    showTooltip.from(field, (says) =>
      says === null ? null : { pos: says.from, above: true, create: () => ({ dom: drawn(says) }) },
    ),
});

function drawn({ type, about }: Says): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "cm-says";
  dom.setAttribute("role", "status");
  const shown = document.createElement("code");
  shown.textContent = type;
  dom.append(shown);
  if (about !== "") {
    const words = document.createElement("p");
    words.textContent = about;
    dom.append(words);
  }
  return dom;
}

export function languageOf({ types, onProblems, onFailed }: Given): Language {
  const { client, release } = openLanguage();
  const failed = () => {
    onFailed();
    return undefined;
  };

  const lint = linter(
    async (view) => {
      const code = view.state.doc.toString();
      const found = await client.ask(code, await types(), { kind: "diagnose" }).catch(failed);
      // Typed on meanwhile: it is asked again.
      if (found === undefined || view.state.doc.toString() !== code) return [];
      onProblems(found);
      const { length } = view.state.doc;
      return found.map(({ from, to, message, fatal }) => ({
        from: Math.min(from, length),
        to: Math.min(Math.max(to, from + 1), length),
        message,
        severity: fatal ? "error" : "warning",
      }));
    },
    { delay: WAIT_MS },
  );
  const hover = hoverTooltip(async (view, at) => {
    const found = await client
      .ask(view.state.doc.toString(), await types(), { kind: "hover", at })
      .catch(failed);
    if (found == null) return null;
    return { pos: found.from, end: found.to, above: true, create: () => ({ dom: drawn(found) }) };
  });
  const explain = (view: EditorView): boolean => {
    const code = view.state.doc.toString();
    const at = view.state.selection.main.head;
    void (async () => {
      const found = await client.ask(code, await types(), { kind: "hover", at }).catch(failed);
      if (found != null && view.state.doc.toString() === code)
        view.dispatch({ effects: setSays.of(found) });
    })();
    return true;
  };
  const close = (view: EditorView): boolean => {
    if (view.state.field(saysField, false) == null) return false;
    view.dispatch({ effects: setSays.of(null) });
    return true;
  };
  const format = async (view: EditorView): Promise<void> => {
    const code = view.state.doc.toString();
    const changes = await client.ask(code, await types(), { kind: "format" }).catch(failed);
    if (changes === undefined || changes.length === 0 || view.state.doc.toString() !== code) return;
    view.dispatch({ changes, userEvent: "input.format" });
  };

  return {
    extension: [
      lint,
      hover,
      saysField,
      keymap.of([
        { key: "Mod-i", run: explain, preventDefault: true },
        { key: "Escape", run: close },
        {
          key: "Shift-Alt-f",
          run: (view) => {
            void format(view);
            return true;
          },
        },
        ...lintKeymap,
      ]),
    ],
    async complete(context, known) {
      const word = context.matchBefore(/[\w$]*/);
      const from = word?.from ?? context.pos;
      const before = context.state.sliceDoc(from - 1, from);
      if (!context.explicit && from === context.pos && before !== ".") return null;
      const code = context.state.doc.toString();
      const at = context.pos;
      const found = await client.ask(code, await types(), { kind: "complete", at }).catch(failed);
      if (found === undefined) return null;
      const options = found
        .filter(({ label }) => !known.has(label))
        .map(
          ({ label, kind, order }): Completion => ({
            label,
            type: KINDS[kind] ?? "variable",
            sortText: order,
            async info() {
              const says = await client
                .ask(code, await types(), { kind: "explain", at, name: label })
                .catch(failed);
              return says == null ? null : drawn(says);
            },
          }),
        );
      return options.length === 0 ? null : { from, options, validFor: /^[\w$]*$/ };
    },
    format,
    lintAgain: forceLinting,
    release,
  };
}
