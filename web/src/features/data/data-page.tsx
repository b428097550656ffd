/** Data stores and file stores of the organization. */

import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./data.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { pagesOf } from "~/api/queries";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";
import { bytes, count } from "~/ui/format";
import { PageHead, PaneHead } from "~/ui/pane";
import { When } from "~/ui/time";

const storesQuery = pagesOf(["data-stores", "pages"], (query, signal) =>
  body(client.GET("/v1/data_stores", { params: { query }, signal })),
);
const filesQuery = pagesOf(["file-stores", "pages"], (query, signal) =>
  body(client.GET("/v1/file_stores", { params: { query }, signal })),
);

export function DataPage() {
  useTitle("Data");
  const stores = useInfiniteQuery(storesQuery);
  const files = useInfiniteQuery(filesQuery);
  const refused = useRefusal("deploy");
  const [makes, setMakes] = useState(false);
  return (
    <>
      <PageHead
        acts={
          <Button look="primary" icon={Plus} refused={refused} onClick={() => setMakes(true)}>
            New data store
          </Button>
        }
      >
        <h1>Data</h1>
      </PageHead>
      <div className="scroll in-order">
        <PaneHead title="Data stores" hint="key-value data shared by workflows and sources" />
        <ListState
          query={stores}
          what="The data stores"
          empty={
            <Empty title="No data stores yet.">
              <p>
                A prop of type <code className="mono">data_store</code> selects one; code reads,
                sets and deletes its keys.
              </p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-stores" aria-label="Data stores">
              <thead>
                <tr className="tr is-head">
                  <th>Name</th>
                  <th className="is-right">Keys</th>
                  <th className="is-right">Size</th>
                  <th className="is-right">Changed</th>
                </tr>
              </thead>
              <tbody>
                {items.map((store) => (
                  <tr className="tr" key={store.id}>
                    <td className="cut">
                      <Link to="/data/$id" params={{ id: store.id }} className="row-link name">
                        {store.name}
                      </Link>
                    </td>
                    <td className="num is-right">{count(store.keys)}</td>
                    <td className="num is-right">{bytes(store.bytes)}</td>
                    <td className="dim is-right above">
                      <When at={store.updated_at * 1_000} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </ListState>
        <PaneHead title="File stores" hint="files that steps and sources share" />
        <ListState
          query={files}
          what="The file stores"
          empty={
            <Empty title="No file stores yet.">
              <p>
                A prop of type <code className="mono">dir</code> selects one; code reads and writes
                its files in a folder.
              </p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-stores" aria-label="File stores">
              <thead>
                <tr className="tr is-head">
                  <th>Name</th>
                  <th className="is-right">Files</th>
                  <th className="is-right">Size</th>
                  <td />
                </tr>
              </thead>
              <tbody>
                {items.map((store) => (
                  <tr className="tr" key={store.name}>
                    <td className="cut">
                      <Link
                        to="/files/$store"
                        params={{ store: store.name }}
                        className="row-link name"
                      >
                        {store.name}
                      </Link>
                    </td>
                    <td className="num is-right">{count(store.files)}</td>
                    <td className="num is-right">{bytes(store.bytes)}</td>
                    <td />
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {makes && <Make onClose={() => setMakes(false)} />}
    </>
  );
}

function Make({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName, isTyped] = useKeptText("dialog.data-store");
  const make = useMutation({
    mutationFn: () => data(client.POST("/v1/data_stores", { body: { name: name.trim() } })),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ["data-stores"] });
      onClose();
      void navigate({ to: "/data/$id", params: { id } });
    },
  });
  return (
    <FormDialog
      title="New data store"
      act="Create data store"
      busy="Creating…"
      mutation={make}
      typed={isTyped}
      onClose={onClose}
    >
      <Field label="Name" optional={false}>
        {(control) => (
          <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
