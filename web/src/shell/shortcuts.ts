/** All shortcuts as data: the sheet behind `?`, the tips and the menus are made of it. */

import { useKeys } from "~/ui/keyboard";

export type Shortcut = {
  keys: string;
  /** Another stroke for the same. */
  also?: string;
  where: string;
  says: string;
};

export const shortcuts = {
  palette: { keys: "mod+k", where: "Anywhere", says: "Find a page, a record or a command" },
  sheet: { keys: "?", where: "Anywhere", says: "Keyboard shortcuts" },
  home: { keys: "g h", where: "Anywhere", says: "Go to Home" },
  runs: { keys: "g r", where: "Anywhere", says: "Go to Runs" },
  errors: { keys: "g e", where: "Anywhere", says: "Go to Errors" },
  workflows: { keys: "g w", where: "Anywhere", says: "Go to Workflows" },
  sources: { keys: "g s", where: "Anywhere", says: "Go to Sources" },
  accounts: { keys: "g a", where: "Anywhere", says: "Go to Accounts" },
  data: { keys: "g d", where: "Anywhere", says: "Go to Data" },
  toast: { keys: "f6", where: "Anywhere", says: "Focus the newest notification" },
  theme: { keys: "t", where: "Anywhere", says: "Switch between the light, dark and system theme" },
  side: { keys: "[", where: "Anywhere", says: "Collapse the side bar" },
  filter: { keys: "/", also: "f", where: "Lists", says: "Search or filter" },
  next: { keys: "j", where: "Lists, a run", says: "Next row, or run of the list" },
  previous: { keys: "k", where: "Lists, a run", says: "Previous row, or run of the list" },
  open: { keys: "enter", where: "Lists", says: "Open the row" },
  select: { keys: "x", where: "Lists", says: "Select the row" },
  selectTo: { keys: "shift+x", where: "Lists", says: "Select up to this row" },
  selectAll: { keys: "shift+a", where: "Lists", says: "Select all that match" },
  replay: { keys: "r", where: "Lists, a run", says: "Replay" },
  cancel: { keys: "c", where: "Lists, a run", says: "Cancel" },
  pause: { keys: ".", where: "Live lists", says: "Show new rows, or pause" },
  stepUp: { keys: "up", where: "A run", says: "Previous step" },
  stepDown: { keys: "down", where: "A run", says: "Next step" },
  tabs: { keys: "1", where: "A run", says: "Tabs 1 to 6" },
  replayStep: { keys: "shift+r", where: "A run", says: "Replay from the failed step" },
  edit: { keys: "e", where: "A run", says: "Open in the editor with this event" },
  link: { keys: "y", where: "A run", says: "Copy the link" },
  stepAdd: { keys: "a", where: "The builder", says: "Add a step after this one" },
  save: { keys: "mod+s", where: "The builder", says: "Save the draft" },
  testStep: {
    keys: "mod+enter",
    where: "The builder",
    says: "Test this step, and earlier steps without results",
  },
  testTo: { keys: "mod+shift+enter", where: "The builder", says: "Test up to this step" },
  testAll: { keys: "mod+alt+enter", where: "The builder", says: "Test all steps" },
  moveUp: { keys: "alt+up", where: "The builder", says: "Move the step up" },
  moveDown: { keys: "alt+down", where: "The builder", says: "Move the step down" },
  duplicate: { keys: "d", where: "The builder", says: "Duplicate the step" },
  removeStep: { keys: "delete", also: "backspace", where: "The builder", says: "Remove the step" },
  copyStep: { keys: "mod+c", where: "The builder", says: "Copy the step as YAML" },
  pasteStep: {
    keys: "mod+v",
    where: "The builder",
    says: "Paste steps: YAML, a curl command or a URL",
  },
  undo: { keys: "mod+z", where: "The builder", says: "Undo; with Shift, redo" },
  deploy: { keys: "mod+shift+d", where: "The builder", says: "Deploy the draft" },
  codeLeave: { keys: "escape tab", where: "Code", says: "Leave the editor (Tab alone indents)" },
  codeFind: { keys: "mod+f", where: "Code", says: "Find and replace" },
  jsonOpen: { keys: "*", where: "JSON", says: "Expand all siblings" },
  jsonPath: { keys: "y", where: "JSON", says: "Copy the path" },
  jsonValue: { keys: "shift+y", where: "JSON", says: "Copy the value" },
  jsonSearch: { keys: "/", where: "JSON", says: "Search" },
  jsonNext: { keys: "n", where: "JSON", says: "Next match" },
  jsonPrevious: { keys: "shift+n", where: "JSON", says: "Previous match" },
} as const satisfies Record<string, Shortcut>;

export type ShortcutId = keyof typeof shortcuts;

/** Handles shortcuts by their name while the component is mounted. */
export function useShortcuts(
  handlers: Partial<Record<ShortcutId, (event: KeyboardEvent) => void>>,
): void {
  const byKeys: Record<string, (event: KeyboardEvent) => void> = {};
  for (const [id, shortcut] of Object.entries<Shortcut>(shortcuts)) {
    const handler = isShortcut(id) ? handlers[id] : undefined;
    if (handler === undefined) continue;
    byKeys[shortcut.keys] = handler;
    if (shortcut.also !== undefined) byKeys[shortcut.also] = handler;
  }
  useKeys(byKeys);
}

function isShortcut(id: string): id is ShortcutId {
  return id in shortcuts;
}
