/** Finding and replacing in an editor: Ctrl+F, a bar above the text. */

import { search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { inEditor } from "./leave";

const phrases = {
  next: "Next",
  previous: "Previous",
  all: "Select all",
  "match case": "Match case",
  regexp: "Regular expression",
  "by word": "Whole words",
  replace: "Replace",
  "replace all": "Replace all",
  Find: "Find in this text",
  Replace: "Replace with",
  close: "Close the search",
};

/** Takes the page's stroke for a deploy too, where a keyboard gives its letter without the shift. */
const NEXT_OF_SELECTION = "Mod-d";

const keys = searchKeymap.filter(({ key }) => key !== NEXT_OF_SELECTION).map(inEditor);

export const find: Extension = [
  search({ top: true }),
  // All hits may be selected and typed over.
  EditorState.allowMultipleSelections.of(true),
  EditorState.phrases.of(phrases),
  keymap.of(keys),
];
