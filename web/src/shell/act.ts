/** An audit record's action, such as `PUT /workflows/{id}`, in words. */

const VERBS: Record<string, string> = { POST: "Made", PUT: "Changed", DELETE: "Deleted" };
/** What was done to one that is there: `POST /workflows/{id}/deploy`. */
const ACTS: Record<string, string> = {
  cancel: "Cancelled",
  deploy: "Deployed",
  discard: "Discarded the draft of",
  replay: "Replayed",
  resume: "Resumed",
  rollback: "Went back to a version of",
  run: "Ran",
  test: "Tested",
};
/** Nouns that are not the singular of their segment. */
const NOUNS: Record<string, string> = {
  api_keys: "API key",
  oauth: "OAuth",
  registries: "registry",
  deliveries: "delivery",
};
/** A segment that the request fills in. */
const IDS = /^\{.*\}$/;
/** What happens all the time, and changes nothing of how things are set up. */
const EVERYDAY =
  /^GET |\/(run|test|replay|cancel|resume|record|files|events|use)$|\/(runs|replays|session|sessions|users|password)\b/;

type Act = { verb: string; noun: string | undefined };

function partsOf(action: string): Act {
  const [method = "", path = ""] = action.split(" ");
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== "v1");
  const nouns = segments.filter((segment) => !IDS.test(segment));
  const last = nouns.at(-1);
  if (last === undefined) return { verb: action, noun: undefined };
  const first = nouns[0] ?? last;
  if (method === "GET") return { verb: "Looked at the credentials of", noun: nounOf(first) };
  if (method === "POST" && segments.length > 1 && !isPlural(last)) {
    const verb = ACTS[last] ?? `Asked for ${last.replaceAll("_", " ")} of`;
    return { verb, noun: nounOf(first) };
  }
  const verb = VERBS[method] ?? method;
  if (nouns.length > 1 && !isPlural(last)) {
    return { verb: `${verb} ${last.replaceAll("_", " ")} of`, noun: nounOf(first) };
  }
  return { verb, noun: nounOf(last) };
}

/** "Deployed a workflow". */
export function sayAct(action: string): string {
  const { verb, noun } = partsOf(action);
  return noun === undefined ? verb : `${verb} ${anOf(noun)}`;
}

/** The same within a sentence about somebody, before the name of what it was done to: "deployed" or, where it has none, "deployed a workflow". */
export function didAct(action: string, isNamed: boolean): string {
  const { verb, noun } = partsOf(action);
  const said = isNamed || noun === undefined ? verb : `${verb} ${anOf(noun)}`;
  return said.slice(0, 1).toLowerCase() + said.slice(1);
}

/** Whether it changed how things are set up, and not only what they hold or do. */
export function isChange(action: string): boolean {
  return !EVERYDAY.test(action);
}

/** Whether it put a version of a workflow live. */
export function isDeploy(action: string): boolean {
  return /^POST \/workflows\/\{\w+\}\/(deploy|rollback)$/.test(action.replace("/v1", ""));
}

function isPlural(segment: string): boolean {
  return segment.endsWith("s");
}

function nounOf(segment: string): string {
  return NOUNS[segment] ?? segment.replace(/s$/, "").replaceAll("_", " ");
}

function anOf(noun: string): string {
  return `${/^[aeioAEIO]/.test(noun) ? "an" : "a"} ${noun}`;
}
