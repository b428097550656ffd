/** Page of a data store: its keys, and an editor of the chosen key's value. */

import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./data.css";
import {
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Trash2 } from "lucide-react";
import { useRef, useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { asJson, isObject, textOf } from "~/api/json";
import { pagesOf } from "~/api/queries";
import { ListState } from "~/shell/list-state";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { Field, Input, Message, Search } from "~/ui/field";
import { bytes, plural } from "~/ui/format";
import { jsonProblem } from "~/ui/json/problem";
import { Crumbs, PageHead, PaneHead } from "~/ui/pane";
import { Until } from "~/ui/time";
import { say } from "~/ui/toast";
import { VirtualRows } from "~/ui/virtual-rows";
import { storeQuery } from "./queries";
import { StoreActs } from "./store-acts";

const keysQuery = (id: string, prefix: string) =>
  pagesOf(["data-store", id, "keys", prefix], (page, signal) => {
    const query = { ...page, values: true, ...(prefix === "" ? {} : { prefix }) };
    return body(
      client.GET("/v1/data_stores/{id}/keys", { params: { path: { id }, query }, signal }),
    );
  });

export function StorePage({
  id,
  chosen,
  onChoose,
  prefix,
  onPrefix,
}: {
  id: string;
  chosen: string | undefined;
  onChoose: (key: string | undefined) => void;
  /** Only keys that begin so. */
  prefix: string;
  onPrefix: (prefix: string) => void;
}) {
  const { data: store } = useSuspenseQuery(storeQuery(id));
  useTitle(store.name);
  const refused = useRefusal("deploy");
  const keys = useInfiniteQuery({
    ...keysQuery(id, prefix),
    placeholderData: (before) => before,
  });
  const scroll = useRef<HTMLDivElement>(null);
  const [adds, setAdds] = useState(false);
  return (
    <>
      <PageHead acts={<StoreActs id={id} name={store.name} keys={store.keys} chosen={chosen} />}>
        <Crumbs>
          <Link to="/data">Data</Link>
          <h1 className="cut">{store.name}</h1>
        </Crumbs>
        <span className="dim num">
          {plural(store.keys, "key")}, {bytes(store.bytes)}
        </span>
      </PageHead>
      <div className="data-cols scroll in-order">
        <section aria-label="Keys">
          <PaneHead title="Keys">
            <Search
              label="Keys that begin with"
              value={prefix}
              onChange={(event) => onPrefix(event.target.value)}
            />
            <Button
              size="sm"
              icon={Plus}
              refused={refused}
              onClick={() => {
                setAdds(true);
                onChoose(undefined);
              }}
            >
              Add
            </Button>
          </PaneHead>
          <div className="scroll" ref={scroll}>
            <ListState
              query={keys}
              what="The keys"
              empty={
                prefix === "" ? (
                  <Empty title="It holds nothing yet." />
                ) : (
                  <Empty title={`No key begins with “${prefix}”.`}>
                    <Button onClick={() => onPrefix("")}>Show all keys</Button>
                  </Empty>
                )
              }
            >
              {(items) => (
                <table className="tbl t-keys" aria-label="Keys">
                  <tbody>
                    <VirtualRows
                      count={items.length}
                      height={33}
                      scroll={scroll}
                      keyOf={(at) => items[at]?.key ?? String(at)}
                    >
                      {(at, row) => {
                        const item = items[at];
                        if (item === undefined) return null;
                        return (
                          <tr
                            {...row}
                            className="tr"
                            aria-current={item.key === chosen ? "true" : undefined}
                          >
                            <td className="cut">
                              <button
                                type="button"
                                className="row-link mono cut"
                                onClick={() => {
                                  setAdds(false);
                                  onChoose(item.key);
                                }}
                              >
                                {item.key}
                              </button>
                            </td>
                            <td className="mono small dim cut">{glanceOf(item.value)}</td>
                          </tr>
                        );
                      }}
                    </VirtualRows>
                  </tbody>
                </table>
              )}
            </ListState>
          </div>
        </section>
        <section aria-label="Value">
          {adds ? (
            <Record
              key="$new"
              store={id}
              recordKey={undefined}
              first="null"
              onSaved={(key) => {
                setAdds(false);
                onChoose(key);
              }}
            />
          ) : chosen === undefined ? (
            <Empty title="A key that you choose is shown here." />
          ) : (
            <Stored key={chosen} store={id} recordKey={chosen} onGone={() => onChoose(undefined)} />
          )}
        </section>
      </div>
    </>
  );
}

const GLANCE = 80;

/** The beginning of a value, as it is written; the server cuts large ones. */
function glanceOf(value: unknown): string {
  const cut = isObject(value) && value.$truncated === true ? textOf(value.$preview) : undefined;
  return (cut ?? JSON.stringify(value) ?? "").slice(0, GLANCE);
}

function Stored({
  store,
  recordKey,
  onGone,
}: {
  store: string;
  recordKey: string;
  onGone: () => void;
}) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const record = useQuery({
    queryKey: ["data-store", store, "record", recordKey],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/data_stores/{id}/record", {
          params: { path: { id: store }, query: { key: recordKey } },
          signal,
        }),
      ),
    retry: false,
  });
  const remove = useMutation({
    mutationFn: () =>
      data(
        client.DELETE("/v1/data_stores/{id}/record", {
          params: { path: { id: store }, query: { key: recordKey } },
        }),
      ),
    onSuccess: () => {
      const value = record.data?.value;
      say({
        title: `${recordKey} is deleted`,
        act: {
          label: "Undo",
          onClick: () => {
            void data(
              client.PUT("/v1/data_stores/{id}/record", {
                params: { path: { id: store } },
                body: { key: recordKey, value: asJson(value) },
              }),
            ).then(() => queries.invalidateQueries({ queryKey: ["data-store", store] }));
          },
        },
      });
      onGone();
      void queries.invalidateQueries({ queryKey: ["data-store", store] });
    },
  });
  if (record.error !== null) {
    return <ReadFailed what="The value" error={record.error} again={record.refetch} />;
  }
  if (record.data === undefined) return null;
  return (
    <>
      <PaneHead title={<span className="mono">{recordKey}</span>}>
        {typeof record.data.expires_at_ms === "number" && (
          <span className="dim small">
            ends <Until at={record.data.expires_at_ms} />
          </span>
        )}
        <Button
          size="sm"
          look="danger"
          icon={Trash2}
          refused={refused}
          onClick={() => remove.mutate()}
        >
          Delete
        </Button>
      </PaneHead>
      <Record
        store={store}
        recordKey={recordKey}
        first={JSON.stringify(record.data.value, null, 2)}
        onSaved={() => {}}
      />
    </>
  );
}

function Record({
  store,
  recordKey,
  first,
  onSaved,
}: {
  store: string;
  recordKey: string | undefined;
  first: string;
  onSaved: (key: string) => void;
}) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const place = `dialog.record.${store}.${recordKey ?? ""}`;
  const [name, setName] = useKeptText(`${place}.name`);
  const [text, setText] = useKeptText(place, first);
  const parsed = parse(text);
  const key = recordKey ?? name;
  const save = useMutation({
    mutationFn: () =>
      data(
        client.PUT("/v1/data_stores/{id}/record", {
          params: { path: { id: store } },
          body: { key, value: "value" in parsed ? asJson(parsed.value) : null },
        }),
      ),
    onSuccess: () => {
      say({ title: "Saved", about: key, shape: "succeeded" });
      void queries.invalidateQueries({ queryKey: ["data-store", store] });
      onSaved(key);
    },
  });
  const stop =
    refused ??
    ("problem" in parsed
      ? parsed.problem
      : key === ""
        ? "Give it a key first."
        : recordKey !== undefined && text === first
          ? "Nothing is changed."
          : undefined);
  return (
    <form
      className="record"
      onSubmit={(event) => {
        event.preventDefault();
        if (stop === undefined) save.mutate();
      }}
    >
      {recordKey === undefined && (
        <Field label="Key" optional={false}>
          {(control) => (
            <Input
              {...control}
              mono
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      )}
      <Editor
        language="json"
        label="Value"
        value={text}
        onChange={setText}
        invalid={"problem" in parsed}
        minHeight={160}
        maxHeight="60dvh"
      />
      {"problem" in parsed && <Message error={parsed.problem} />}
      {save.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(save.error)}
        </p>
      )}
      <div className="record-acts">
        <Button look="primary" type="submit" refused={stop} busy={save.isPending && "Saving…"}>
          Save
        </Button>
      </div>
    </form>
  );
}

function parse(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: jsonProblem(text) };
  }
}
