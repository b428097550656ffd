/** Props that the options of another prop depend on. */

import type { PropDef } from "~/api/props";
import { hasOptions } from "./values";

/** Those that the component names, or else the nearest choice before it: code does not say what it reads. */
export function parentsOf(props: readonly PropDef[], prop: PropDef): PropDef[] {
  const { dependsOn } = prop;
  if (!prop.asksOptions) return [];
  if (dependsOn !== undefined) {
    return props.filter(({ name }) => name !== prop.name && dependsOn.includes(name));
  }
  const at = props.findIndex(({ name }) => name === prop.name);
  const before = props
    .slice(0, at)
    .findLast((each) => !each.hidden && (hasOptions(each) || each.type === "app"));
  return before === undefined ? [] : [before];
}
