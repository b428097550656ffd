/**
 * Marks beside the line numbers: lines that differ from the text that the code is compared with.
 */

import { RangeSet, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter, ViewPlugin } from "@codemirror/view";
import { type ChangedLine, changedLines } from "./changed-lines";

const WAIT_MS = 150;

const setMarks = StateEffect.define<readonly ChangedLine[]>();

const words = {
  new: "Added since the live version",
  changed: "Changed since the live version",
  gone: "Lines of the live version were removed here",
} as const;

class Mark extends GutterMarker {
  constructor(readonly kind: ChangedLine["kind"]) {
    super();
  }
  override eq(other: Mark): boolean {
    return other.kind === this.kind;
  }
  override toDOM(): Node {
    const mark = document.createElement("span");
    mark.className = `cm-change is-${this.kind}`;
    mark.title = words[this.kind];
    return mark;
  }
}

const marks = { new: new Mark("new"), changed: new Mark("changed"), gone: new Mark("gone") };

const field = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMarks)) continue;
      const builder = new RangeSetBuilder<GutterMarker>();
      const { doc } = transaction.state;
      for (const { line, kind } of effect.value) {
        if (line > doc.lines) continue;
        const { from } = doc.line(line);
        builder.add(from, from, marks[kind]);
      }
      next = builder.finish();
    }
    return next;
  },
});

/** `against`: asked for with each change; `undefined`: nothing to compare with. */
export function changeGutter(against: () => string | undefined) {
  const plugin = ViewPlugin.define((view) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const plan = (wait: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => void compare(view, against()), wait);
    };
    plan(0);
    return {
      update({ docChanged, transactions }) {
        const asked = transactions.some(({ effects }) =>
          effects.some((effect) => effect.is(compareAgain)),
        );
        if (docChanged || asked) plan(docChanged ? WAIT_MS : 0);
      },
      destroy: () => clearTimeout(timer),
    };
  });
  return [
    field,
    plugin,
    gutter({ class: "cm-changes", markers: (view) => view.state.field(field) }),
  ];
}

/** The text to compare with became another. */
export const compareAgain = StateEffect.define<null>();

async function compare(view: EditorView, before: string | undefined): Promise<void> {
  const text = view.state.doc.toString();
  const found = before === undefined ? [] : await changedLines(before, text);
  // What was typed meanwhile is compared by itself.
  if (view.dom.isConnected && view.state.doc.toString() === text) {
    view.dispatch({ effects: setMarks.of(found) });
  }
}
