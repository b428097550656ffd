/** Values of `{{expressions}}` while they are typed. They are evaluated by the server, where code runs: never here. */

import { queryOptions } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { isObject, type JsonObject, listOf, textOf } from "~/api/json";

/** Bytes of one value that an action takes are bounded: data go in pieces. */
const PIECE = 20_000;
const PIECES_MAX = 40;

const pieceNames = Array.from({ length: PIECES_MAX }, (_, index) => `d${index}`);

/** Evaluates as steps do; the same for all, so that it is built once. */
const EVALUATOR = `const parts = (text) => {
  const found = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf("{{", at);
    if (open < 0) break;
    if (open > at) found.push({ text: text.slice(at, open) });
    let close = text.indexOf("}}", open + 2);
    let run;
    let why = "it is not closed by }}";
    while (close >= 0) {
      try {
        run = new Function("steps", "process", "event", '"use strict"; return (' + text.slice(open + 2, close) + "\\n);");
        break;
      } catch (error) {
        why = error.message;
        close = text.indexOf("}}", close + 1);
      }
    }
    if (!run) throw new SyntaxError(why);
    found.push({ run });
    at = close + 2;
  }
  if (at < text.length) found.push({ text: text.slice(at) });
  return found;
};
const shown = (value) => value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
export default {
  name: "Values of expressions",
  version: "0.0.1",
  type: "action",
  props: {
    value: { type: "string" },
    ${pieceNames.map((name) => `${name}: { type: "string", optional: true }`).join(",\n    ")},
  },
  run() {
    let all = "";
    for (let n = 0; n < ${PIECES_MAX}; n += 1) all += this["d" + n] ?? "";
    const steps = JSON.parse(all);
    const ofText = (text) => {
      const values = parts(text).map((part) => part.run ? part.run(steps, { env: {} }, steps.trigger?.event) : part.text);
      return values.length === 1 ? values[0] : values.map(shown).join("");
    };
    const given = (value) => {
      if (typeof value === "string") return value.includes("{{") ? ofText(value) : value;
      if (Array.isArray(value)) return value.map(given);
      if (value === null || typeof value !== "object") return value;
      return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, given(of)]));
    };
    try {
      const value = given(JSON.parse(this.value));
      if (value === undefined) return { nothing: true };
      const text = JSON.stringify(value) ?? String(value);
      return { text: text.slice(0, 400).replace(/[\\ud800-\\udbff]$/, ""), cut: text.length > 400 };
    } catch (error) {
      return { problem: error.name + ": " + error.message };
    }
  },
};
`;

export type ExpressionValue =
  | { text: string; cut: boolean }
  | { nothing: true }
  | { problem: string };

/** `value`: as JSON text, with expressions in it; `data`: `steps` as JSON text. */
export const expressionQuery = (project: string, value: string, data: string) =>
  queryOptions({
    queryKey: ["expression", project, value, data],
    queryFn: async ({ signal }): Promise<ExpressionValue> => {
      const pieces: JsonObject = Object.fromEntries(
        piecesOf(data).map((piece, at) => [`d${at}`, piece]),
      );
      const answer = await body(
        client.POST("/v1/connect/{project}/actions/run", {
          params: { path: { project } },
          body: { component_code: EVALUATOR, configured_props: { value, ...pieces } },
          signal,
        }),
      );
      return answered(answer.ret, answer.os);
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  });

/** Whether data of this length can be sent. A piece may be shorter by one half of a pair. */
export function fits(data: string): boolean {
  return data.length <= (PIECE - 1) * PIECES_MAX;
}

/** The data in pieces; no cut parts the halves of a surrogate pair, which alone are no text. */
export function piecesOf(data: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < data.length; at += pieces.at(-1)?.length ?? PIECE) {
    pieces.push(data.slice(at, at + PIECE).replace(/[\ud800-\udbff]$/, ""));
  }
  return pieces;
}

function answered(given: unknown, observed: unknown): ExpressionValue {
  if (isObject(given)) {
    const problem = textOf(given.problem);
    if (problem !== undefined) return { problem };
    if (given.nothing === true) return { nothing: true };
    const text = textOf(given.text);
    if (text !== undefined) return { text, cut: given.cut === true };
  }
  const thrown = listOf(observed).find((each) => isObject(each) && each.k === "error");
  const error = isObject(thrown) && isObject(thrown.err) ? textOf(thrown.err.message) : undefined;
  return { problem: error ?? "the server gave no value" };
}
