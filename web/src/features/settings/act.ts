/** An audit record's action, such as `PUT /workflows/{id}`, in words. */

const VERBS: Record<string, string> = { POST: "Made", PUT: "Changed", DELETE: "Deleted" };
/** Nouns that are not the singular of their segment. */
const NOUNS: Record<string, string> = {
  api_keys: "API key",
  oauth: "OAuth",
  registries: "registry",
  deliveries: "delivery",
};
/** A segment that the request fills in. */
const IDS = /^\{.*\}$/;

export function sayAct(action: string): string {
  const [method = "", path = ""] = action.split(" ");
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== "v1");
  const nouns = segments.filter((segment) => !IDS.test(segment));
  const last = nouns.at(-1);
  if (last === undefined) return action;
  if (method === "GET") return `Looked at the credentials of ${anOf(nounOf(nouns[0] ?? last))}`;
  // Something done to one that is there: `POST /workflows/{id}/deploy`.
  const first = nouns[0] ?? last;
  if (method === "POST" && segments.length > 1 && !isPlural(last)) {
    return `${nounOf(first)}: ${last.replaceAll("_", " ")}`.replace(/^./, (letter) =>
      letter.toUpperCase(),
    );
  }
  const what = nouns.length > 1 && !isPlural(last) ? `${last.replaceAll("_", " ")} of ` : "";
  const noun = what === "" ? nounOf(last) : nounOf(first);
  return `${VERBS[method] ?? method} ${what}${anOf(noun)}`;
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
