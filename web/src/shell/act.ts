/** An audit record's action, such as `PUT /workflows/{id}`, in words. */

import { ACTIONS } from "./audit-actions";

/** What happens all the time, and changes nothing of how things are set up. */
const EVERYDAY =
  /^GET |\/(run|test|replay|cancel|resume|record|files|events|check|send|token|revoke)$|\/(runs|replays|session|sessions|sign_in|links|users|password)\b/;

/** "Deployed a workflow"; an action that is not known as it is. */
export function sayAct(action: string): string {
  return ACTIONS[action]?.join(" ") ?? action;
}

/** The same within a sentence about somebody, before the name of what it was done to: "deployed" or, where it has none, "deployed a workflow". */
export function didAct(action: string, isNamed: boolean): string {
  const said = isNamed ? ACTIONS[action]?.[0] : undefined;
  const words = said ?? sayAct(action);
  return words.slice(0, 1).toLowerCase() + words.slice(1);
}

/** Whether it changed how things are set up, and not only what they hold or do. */
export function isChange(action: string): boolean {
  return !EVERYDAY.test(action);
}

/** Whether it put a version of a workflow live. */
export function isDeploy(action: string): boolean {
  return /^POST \/workflows\/\{\w+\}\/(deploy|rollback)$/.test(action);
}
