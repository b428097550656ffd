/** Client of `/v1`: typed paths, the session's CSRF header, and refusals as `ApiError`. */

import createClient, { type Middleware } from "openapi-fetch";
import { exactText, readExact } from "~/json/exact";
import { ApiError } from "./errors";
import { observers } from "./observers";
import type { paths } from "./schema";

/** A page of another origin cannot send it: there is no CORS. */
const CSRF_HEADER = "x-millrace-csrf";

/** The server speaks of keys: a page has none. */
const SESSION_ENDED = "the session ended; sign in and try again";

const guard: Middleware = {
  onRequest({ request }) {
    if (request.method !== "GET") request.headers.set(CSRF_HEADER, "1");
    return request;
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    observers.onLost();
    return new ApiError(0, "no_connection", "the server cannot be reached; try again");
  },
};

export const client = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  bodySerializer: (given) => exactText(given) ?? "",
});
client.use(guard);

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The body of a success; throws an `ApiError` for every other answer. */
export async function body<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  observers.onAnswer();
  if (response.ok && data !== undefined) return data;
  const refused = refusal(response, error);
  if (refused.status !== 401 || response.url.endsWith("/v1/session")) throw refused;
  observers.onSignedOut();
  throw new ApiError(401, refused.code, SESSION_ENDED, refused.details, refused.requestId);
}

/** `data` of a success. */
export async function data<T>(answer: Promise<Answer<{ data: T }>>): Promise<T> {
  return (await body(answer)).data;
}

/** How often a record that somebody changes between a read and a write is read again. */
const TRIES_MAX = 3;

/**
 * Sends what `change` makes of the record that `read` gives, over that state of it alone: where it
 * was changed between the two, it is read again.
 */
export async function changeOver<R, T>(
  read: () => Promise<Answer<{ data: R }>>,
  change: (record: R, header: { "If-Match": string }) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const answer = read();
    const record = await data(answer);
    const tag = (await answer).response.headers.get("etag") ?? "*";
    try {
      return await change(record, { "If-Match": tag });
    } catch (error) {
      const isChanged = error instanceof ApiError && error.status === 412;
      if (!isChanged || tries === TRIES_MAX) throw error;
    }
  }
}

/**
 * An answer that holds values of users, asked for with `parseAs: "text"`: their numbers stay as they
 * were sent.
 */
export async function exactBody<T>(answer: Promise<Answer<string>>): Promise<T> {
  // The document of the server says what its answers are.
  return readExact(await body(answer)) as T;
}

/** `data` of such an answer. */
export async function exactData<T>(answer: Promise<Answer<string>>): Promise<T> {
  return (await exactBody<{ data: T }>(answer)).data;
}

function refusal(response: Response, error: unknown): ApiError {
  const id = response.headers.get("x-request-id") ?? undefined;
  if (isRefusal(error)) {
    return new ApiError(response.status, error.code, error.error, error.details, id);
  }
  const words = `the server answered ${response.status} with a body that cannot be read`;
  return new ApiError(response.status, "unreadable", words, {}, id);
}

type Refusal = { error: string; code: string; details?: Record<string, unknown> };

function isRefusal(value: unknown): value is Refusal {
  return (
    typeof value === "object" &&
    value !== null &&
    "error" in value &&
    typeof value.error === "string" &&
    "code" in value &&
    typeof value.code === "string"
  );
}
