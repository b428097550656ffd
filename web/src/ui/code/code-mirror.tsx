/** CodeMirror with the extensions of this application; loaded when a page shows an editor. */

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import {
  Compartment,
  EditorState,
  type Extension,
  Prec,
  StateEffect,
  StateField,
  Transaction,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { useEffect, useId, useRef, useState } from "react";
import { changeGutter, compareAgain } from "./change-gutter";
import { completionOf, dotBefore, type Option } from "./completion";
import type { EditorProps } from "./editor";
import { completionAt } from "./expression";
import { find } from "./find";
import type { Problem } from "./language/core";
import type { Language } from "./language/extension";
import { LanguageStatus } from "./language/status";
import { inEditor, leavesByKeys } from "./leave";

const setWrong = StateEffect.define<number | undefined>();

const wrongLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setWrong)) continue;
      const line = effect.value;
      const { doc } = transaction.state;
      next =
        line === undefined || line < 1 || line > doc.lines
          ? Decoration.none
          : Decoration.set([Decoration.line({ class: "is-wrong" }).range(doc.line(line).from)]);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/**
 * Text typed over other text. Left to the browser, it would keep the style of what it replaces within the text, which the
 * page's policy refuses with a message.
 */
const typesOverText = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data: text } = event;
    if (event.inputType !== "insertText" || text === null) return false;
    const { from, to } = rangeTyped(view);
    if (view.state.readOnly || from === to) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update({
        changes: { from, to, insert: text },
        selection: { anchor: from + text.length },
        userEvent: "input.type",
        scrollIntoView: true,
      });
    const handled = view.state
      .facet(EditorView.inputHandler)
      .some((handler) => handler(view, from, to, text, insert));
    if (!handled) view.dispatch(insert());
    return true;
  },
});

/** What typing replaces. The editor's selection and the page's follow each other a moment later. */
function rangeTyped(view: EditorView): { from: number; to: number } {
  const { main } = view.state.selection;
  const selected = document.getSelection();
  if (!main.empty || selected === null || selected.isCollapsed) return main;
  const { startContainer, startOffset, endContainer, endOffset } = selected.getRangeAt(0);
  if (!view.contentDOM.contains(startContainer) || !view.contentDOM.contains(endContainer)) {
    return main;
  }
  return {
    from: view.posAtDOM(startContainer, startOffset),
    to: view.posAtDOM(endContainer, endOffset),
  };
}

/** A name that takes brackets goes in the place of the dot before it too. */
function completed({ bracket, ...option }: Option): Completion {
  if (bracket === undefined) return option;
  return {
    ...option,
    apply(view, _, from, to) {
      const start = from - dotBefore(view.state.sliceDoc(Math.max(0, from - 2), from));
      view.dispatch({
        changes: { from: start, to, insert: bracket },
        selection: { anchor: start + bracket.length },
        userEvent: "input.complete",
      });
    },
  };
}

/** It submits dialogs and tests steps; the editor would add a line. */
const SUBMITS = "Mod-Enter";

function languageOf(language: EditorProps["language"]): Extension {
  return language === "json" ? json() : javascript();
}

export default function CodeMirror({
  value,
  onChange,
  onBlur,
  language,
  label,
  describedBy,
  invalid,
  wrongLine: wrong,
  showLine,
  readOnly = false,
  known,
  types,
  against,
  nonce,
}: EditorProps & { nonce: string }) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const handlers = useRef({ onChange, onBlur, known, types, against });
  handlers.current = { onChange, onBlur, known, types, against };
  const service = useRef<Language | undefined>(undefined);
  const [leaves, setLeaves] = useState(false);
  const hint = useId();
  const [problems, setProblems] = useState<readonly Problem[] | "failed" | undefined>(undefined);
  const first = useRef({
    value,
    language,
    readOnly,
    nonce,
    marks: against !== undefined || types !== undefined,
  });
  const attributes = useRef(new Compartment());
  /** While a text is put in from outside: that is no edit of the person's. */
  const given = useRef(false);

  useEffect(() => {
    if (place.current === null) return;
    const begin = first.current;
    let gone = false;
    const services = new Compartment();
    const serve = async () => {
      const { languageOf } = await import("./language/extension");
      if (gone || service.current !== undefined) return;
      service.current = languageOf({
        types: async () => (await handlers.current.types?.()) ?? {},
        onProblems: setProblems,
        onFailed: () => setProblems("failed"),
      });
      editor.dispatch({ effects: services.reconfigure(service.current.extension) });
    };
    const complete = (context: CompletionContext): CompletionResult | null => {
      const line = context.state.doc.lineAt(context.pos);
      const names = handlers.current.known?.();
      if (names === undefined) return null;
      const before = line.text.slice(0, context.pos - line.from);
      // JSON has code within its expressions alone.
      const found =
        begin.language === "json"
          ? completionAt(names, line.text, before.length)
          : completionOf(names, before);
      if (found === undefined) return null;
      return {
        from: line.from + found.from,
        options: found.options.map(completed),
        validFor: /^[\w$]*$/,
      };
    };
    /** What the data at hand have is there at once; the service adds what they do not. */
    const completeMore = async (context: CompletionContext) => {
      const had = complete(context)?.options.map(({ label }) => label);
      return (await service.current?.complete(context, new Set(had))) ?? null;
    };
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: begin.value,
        extensions: [
          EditorView.cspNonce.of(begin.nonce),
          lineNumbers(),
          begin.marks ? changeGutter(() => handlers.current.against) : [],
          history(),
          drawSelection(),
          indentOnInput(),
          indentUnit.of("  "),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          syntaxHighlighting(classHighlighter),
          wrongLine,
          typesOverText,
          find,
          handlers.current.known === undefined
            ? []
            : [
                autocompletion({
                  override: [complete, completeMore],
                  icons: false,
                  maxRenderedOptions: 50,
                  defaultKeymap: false,
                }),
                Prec.highest(keymap.of(completionKeymap.map(inEditor))),
              ],
          languageOf(begin.language),
          attributes.current.of([]),
          services.of([]),
          EditorState.readOnly.of(begin.readOnly),
          // Dictation and input methods write into what is editable, whatever the state says.
          EditorView.editable.of(!begin.readOnly),
          leavesByKeys(setLeaves),
          keymap.of([
            ...closeBracketsKeymap,
            ...defaultKeymap.filter(({ key }) => key !== SUBMITS),
            ...historyKeymap,
            indentWithTab,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !given.current)
              handlers.current.onChange?.(update.state.doc.toString());
            if (!update.focusChanged) return;
            if (!update.view.hasFocus) handlers.current.onBlur?.();
            else if (handlers.current.types !== undefined && service.current === undefined)
              serve().catch(() => setProblems("failed"));
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      gone = true;
      editor.destroy();
      service.current?.release();
      service.current = undefined;
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    given.current = true;
    editor.dispatch({
      changes: { from: 0, to: editor.state.doc.length, insert: value },
      // An undo takes back what was typed here alone.
      annotations: Transaction.addToHistory.of(false),
    });
    given.current = false;
  }, [value]);
  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    const { doc } = editor.state;
    const shown =
      wrong === undefined || wrong < 1 || wrong > doc.lines
        ? []
        : [EditorView.scrollIntoView(doc.line(wrong).from, { y: "center" })];
    editor.dispatch({ effects: [setWrong.of(wrong), ...shown] });
  }, [wrong]);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || showLine === undefined || showLine > editor.state.doc.lines) return;
    const { from } = editor.state.doc.line(showLine);
    editor.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: "center" }),
    });
    editor.focus();
  }, [showLine]);
  const described = [describedBy, readOnly ? undefined : hint].filter(Boolean).join(" ");
  useEffect(() => {
    const named = EditorView.contentAttributes.of({
      "aria-label": label,
      // Reached by Tab in any browser, and so is what scrolls around it.
      tabindex: "0",
      "aria-describedby": described,
      ...(invalid ? { "aria-invalid": "true" } : {}),
    });
    view.current?.dispatch({ effects: attributes.current.reconfigure(named) });
  }, [label, described, invalid]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the text to compare with is what changed
  useEffect(() => {
    view.current?.dispatch({ effects: compareAgain.of(null) });
  }, [against]);

  // Another event, or a result that came: the same code may mean something else.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the types are what changed
  useEffect(() => {
    if (view.current !== null) service.current?.lintAgain(view.current);
  }, [types]);

  return (
    <>
      <div ref={place} />
      {!readOnly && (
        <p id={hint} className="editor-leave" aria-live="polite">
          {leaves ? "Tab leaves the editor" : "Esc, then Tab leaves the editor"}
        </p>
      )}
      {types !== undefined && problems !== undefined && (
        <LanguageStatus
          problems={problems}
          onShow={({ from }) => {
            const editor = view.current;
            if (editor === null) return;
            const anchor = Math.min(from, editor.state.doc.length);
            editor.dispatch({ selection: { anchor }, scrollIntoView: true });
            editor.focus();
          }}
          onFormat={
            readOnly || problems === "failed"
              ? undefined
              : () => {
                  if (view.current !== null) void service.current?.format(view.current);
                }
          }
        />
      )}
    </>
  );
}
