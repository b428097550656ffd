/** Select of a deployed source, or a new one, for a trigger. */

import { useQuery } from "@tanstack/react-query";
import { Combobox, type Item } from "~/ui/combobox";
import { Field } from "~/ui/field";
import { sourceNamesQuery } from "./queries";

/** One of the sources that are deployed. */
export function ChooseSource({
  value,
  onChange,
  onNew,
}: {
  value: Item | null;
  onChange: (item: Item | null) => void;
  /** Deploys one on the spot: the page has what else was typed. */
  onNew: () => void;
}) {
  const { data: sources = [] } = useQuery(sourceNamesQuery);
  return (
    <Field
      label="Source"
      optional={false}
      hint={
        <>
          Not in the list?{" "}
          <button type="button" className="link" onClick={onNew}>
            Deploy a new source…
          </button>
        </>
      }
    >
      {(control) => (
        <Combobox
          {...control}
          items={sources.map(({ id, name, active }) => ({
            key: id,
            label: name,
            note: active ? undefined : "off",
          }))}
          placeholder={sources.length === 0 ? "No sources yet" : "Choose a source"}
          value={value}
          onChange={onChange}
        />
      )}
    </Field>
  );
}
