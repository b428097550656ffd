/** Apps: the fields that an account of one has. */

import { isObject, listOf, textOf } from "./json";
import { labelOf } from "./props";

export type AppField = {
  name: string;
  label: string;
  description: string | undefined;
  default: string | undefined;
  optional: boolean;
  secret: boolean;
};

export function fieldsOf(customFieldsJson: string): AppField[] {
  const given: unknown = JSON.parse(customFieldsJson);
  return listOf(given).flatMap((each) => {
    const name = isObject(each) ? textOf(each.name) : undefined;
    if (!isObject(each) || name === undefined) return [];
    return {
      name,
      label: labelOf(each.label) ?? name,
      description: textOf(each.description),
      default: textOf(each.default),
      optional: each.optional === true,
      secret: each.type === "password",
    };
  });
}
