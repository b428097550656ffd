/** Props that the options of another prop depend on. */

import type { PropDef } from "~/api/props";
import { hasOptions, isMadeByServer } from "./values";

/** Those that the server names, or else the nearest choice before it: code does not say what it reads. */
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

/** The first prop without which there are no options: one that they depend on, or an account before it. */
export function waitsFor(
  props: readonly PropDef[],
  prop: PropDef,
  hasValue: (name: string) => boolean,
): PropDef | undefined {
  const { dependsOn = [] } = prop;
  const isOpen = (each: PropDef) =>
    each.name !== prop.name && isFilledIn(each) && !hasValue(each.name);
  return (
    props.find((each) => dependsOn.includes(each.name) && isOpen(each)) ??
    props.slice(0, props.indexOf(prop)).find((each) => each.type === "app" && isOpen(each))
  );
}

/** Whether the person has to give its value: of one that may be left empty there may be options all the same. */
function isFilledIn(prop: PropDef): boolean {
  const isGiven = prop.default !== undefined || prop.fixed !== undefined || isMadeByServer(prop);
  return !(isGiven || prop.optional || prop.hidden || prop.disabled);
}
