/** Fields of data stores and file stores. */

import { useQuery } from "@tanstack/react-query";
import type { PropDef } from "~/api/props";
import { dataStoresQuery, fileStoresQuery } from "~/api/queries";
import { Combobox } from "~/ui/combobox";
import { type ControlProps, Message } from "~/ui/field";
import { count } from "~/ui/format";
import type { PropForm } from "./use-prop-form";

type Props = { form: PropForm; prop: PropDef; control: ControlProps };

function textOfDraft(form: PropForm, prop: PropDef): string | null {
  const draft = form.drafts[prop.name];
  if (draft?.kind === "text") return draft.text === "" ? null : draft.text;
  return draft?.kind === "value" && typeof draft.value === "string" ? draft.value : null;
}

/** A data store of the organization. */
export function DataStoreField({ form, prop, control }: Props) {
  const { data: stores = [] } = useQuery(dataStoresQuery);
  const chosen = textOfDraft(form, prop);
  const store = stores.find(({ id, name }) => id === chosen || name === chosen);
  const itemOf = ({ id, name, keys }: { id: string; name: string; keys: number }) => ({
    key: id,
    label: name,
    note: `${count(keys)} ${keys === 1 ? "key" : "keys"}`,
  });
  return (
    <Combobox
      {...control}
      items={stores.map(itemOf)}
      placeholder={stores.length === 0 ? "No data store yet" : "Choose a data store"}
      value={
        chosen === null
          ? null
          : store === undefined
            ? { key: chosen, label: chosen }
            : itemOf(store)
      }
      onChange={(item) =>
        form.choose(prop.name, item === null ? undefined : { kind: "value", value: item.key })
      }
    />
  );
}

/** A file store: one that is there, or a name that is not taken yet. */
export function FileStoreField({ form, prop, control }: Props) {
  const { data: stores = [] } = useQuery(fileStoresQuery);
  const names = stores.map(({ name }) => name);
  const text = textOfDraft(form, prop) ?? "";
  return (
    <>
      <input
        {...control}
        className="input is-mono"
        autoComplete="off"
        list={`${control.id}-names`}
        value={text}
        onChange={(event) => form.set(prop.name, { kind: "text", text: event.target.value })}
        onBlur={() => form.commit(prop.name)}
      />
      <datalist id={`${control.id}-names`}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {text !== "" && !names.includes(text) && <Message hint="A new file store of this name." />}
    </>
  );
}
