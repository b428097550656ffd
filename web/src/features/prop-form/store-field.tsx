/** Fields of data stores and file stores. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { PropDef } from "~/api/props";
import { dataStoresQuery, fileStoresQuery } from "~/api/queries";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { Combobox } from "~/ui/combobox";
import { type ControlProps, Message } from "~/ui/field";
import { plural } from "~/ui/format";
import { say } from "~/ui/toast";
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
  const [typed, setTyped] = useState("");
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const make = useMutation({
    mutationFn: (name: string) => data(client.POST("/v1/data_stores", { body: { name } })),
    onSuccess: async ({ id }) => {
      // Its name is shown in the field, not its id.
      await queries.invalidateQueries({ queryKey: dataStoresQuery.queryKey });
      form.choose(prop.name, { kind: "value", value: id });
      setTyped("");
    },
    onError: (error) => say({ title: "The data store was not created", about: sentence(error) }),
  });
  const chosen = textOfDraft(form, prop);
  const store = stores.find(({ id, name }) => id === chosen || name === chosen);
  const itemOf = ({ id, name, keys }: { id: string; name: string; keys: number }) => ({
    key: id,
    label: name,
    note: plural(keys, "key"),
  });
  const words = typed.trim().toLowerCase();
  const fitting = stores.filter(({ name }) => name.toLowerCase().includes(words));
  const isNew = words !== "" && stores.every(({ name }) => name.toLowerCase() !== words);
  return (
    <Combobox
      {...control}
      items={fitting.map(itemOf)}
      placeholder={stores.length === 0 ? "Type a name to create one" : "Choose a data store"}
      onOpen={() => setTyped("")}
      onSearch={setTyped}
      none={
        <p className="combo-none">
          {words === ""
            ? "No data store yet: type a name to create one."
            : "No data store has this name."}
        </p>
      }
      foot={
        isNew ? (
          <Button
            size="sm"
            icon={Plus}
            refused={refused}
            busy={make.isPending && "Creating…"}
            onClick={() => make.mutate(typed.trim())}
          >
            Create “{typed.trim()}”
          </Button>
        ) : undefined
      }
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
      {text !== "" && !names.includes(text) && <Message hint="A new file store with this name." />}
    </>
  );
}
