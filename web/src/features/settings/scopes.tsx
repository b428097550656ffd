/** Scopes of API keys and OAuth clients, and their choice in a form. */

import { useId } from "react";
import { Checkbox } from "~/ui/field";

export const SCOPES = [
  ["full", "Everything, including credentials of accounts, keys and members"],
  ["deploy", "Create, change and delete components, sources, workflows and what belongs to them"],
  ["invoke", "Run sources, test workflows, replay and cancel runs"],
  ["read", "View everything except credentials and keys"],
] as const;

export type Scopes = readonly (typeof SCOPES)[number][0][];

/** Scopes of a text that was kept, with commas between them. */
export function scopesOf(text: string): Scopes {
  const given = text.split(",");
  return SCOPES.flatMap(([scope]) => (given.includes(scope) ? [scope] : []));
}

/** What a key or client may do. */
export function ScopeChoice({
  value,
  onChange,
}: {
  value: Scopes;
  onChange: (value: Scopes) => void;
}) {
  const id = useId();
  return (
    <fieldset className="scope-list">
      <legend className="field-label">Permissions</legend>
      {SCOPES.map(([scope, says]) => (
        <span key={scope} className="toggle-row">
          <Checkbox
            aria-labelledby={`${id}-${scope}`}
            checked={value.includes(scope)}
            onChange={(on) =>
              onChange(on ? [...value, scope] : value.filter((each) => each !== scope))
            }
          />
          <span id={`${id}-${scope}`}>
            <span className="mono">{scope}</span>
            <br />
            <span className="small dim">{says}</span>
          </span>
        </span>
      ))}
    </fieldset>
  );
}
