/** Questions of a form to a component's code: options of a prop, and props that depend on others. */

import { body, client } from "./client";
import { asJson, asJsonObject, isObject, type JsonObject, textOf } from "./json";
import { type Option, optionsOf, type PropDef, propsOf } from "./props";

/** What a form is about: a saved component or a deployed source by its id, or a component by its key. */
export type FormTarget = string;

export type OptionsPage = {
  options: Option[];
  /** Given back unchanged for the next page; `undefined` where the code gave none. */
  context: unknown;
  at: number;
};

export class ComponentSays extends Error {
  override name = "ComponentSays";
}

export async function readOptions(
  question: {
    target: FormTarget;
    prop: string;
    values: JsonObject;
    page: number;
    context: unknown;
    query: string | undefined;
    form: string | undefined;
  },
  signal: AbortSignal,
): Promise<OptionsPage> {
  const answer = await body(
    client.POST("/v1/components/configure", {
      body: {
        id: question.target,
        prop_name: question.prop,
        configured_props: asJsonObject(question.values),
        page: question.page,
        ...(question.context === undefined ? {} : { prev_context: asJson(question.context) }),
        ...(question.query === undefined ? {} : { query: question.query }),
        ...(question.form === undefined ? {} : { dynamic_props_id: question.form }),
      },
      signal,
    }),
  );
  if (answer.errors.length > 0) throw new ComponentSays(answer.errors.join(" "));
  return {
    options: optionsOf(answer.options),
    context: answer.context ?? undefined,
    at: Date.now(),
  };
}

export async function readProps(
  question: { target: FormTarget; values: JsonObject; form: string | undefined },
  signal: AbortSignal,
): Promise<{ form: string | undefined; props: PropDef[] }> {
  const answer = await body(
    client.POST("/v1/components/props", {
      body: {
        id: question.target,
        configured_props: asJsonObject(question.values),
        ...(question.form === undefined ? {} : { dynamic_props_id: question.form }),
      },
      signal,
    }),
  );
  if (answer.errors.length > 0) throw new ComponentSays(answer.errors.join(" "));
  const made = answer.dynamic_props;
  return {
    form: isObject(made) ? textOf(made.id) : undefined,
    props: propsOf(isObject(made) ? made.configurable_props : []),
  };
}
