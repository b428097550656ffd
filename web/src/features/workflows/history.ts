/** Undo and redo of a draft: every edit has a name; typing at one place is one edit. Pure. */

/** Edits that can be undone. */
const DEEPEST = 100;

type Edit<T> = { says: string; before: T; at: string | undefined };

export type History<T> = {
  now: T;
  past: readonly Edit<T>[];
  future: readonly { says: string; after: T }[];
};

export function begun<T>(now: T): History<T> {
  return { now, past: [], future: [] };
}

/** `at`: place of the edit; the next edit at the same place joins it. */
export function edited<T>(history: History<T>, now: T, says: string, at?: string): History<T> {
  if (now === history.now) return history;
  const last = history.past.at(-1);
  const joins = at !== undefined && last?.at === at && history.future.length === 0;
  const past = joins
    ? history.past
    : [...history.past, { says, before: history.now, at }].slice(-DEEPEST);
  return { now, past, future: [] };
}

export function undone<T>(history: History<T>): History<T> {
  const last = history.past.at(-1);
  if (last === undefined) return history;
  return {
    now: last.before,
    past: history.past.slice(0, -1),
    future: [...history.future, { says: last.says, after: history.now }],
  };
}

export function redone<T>(history: History<T>): History<T> {
  const next = history.future.at(-1);
  if (next === undefined) return history;
  return {
    now: next.after,
    past: [...history.past, { says: next.says, before: history.now, at: undefined }],
    future: history.future.slice(0, -1),
  };
}

/** The same history with another present, which is no edit: what the server made of it. */
export function replaced<T>(history: History<T>, now: T): History<T> {
  return { ...history, now };
}
