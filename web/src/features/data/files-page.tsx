/** Page of a file store: its files, with download, upload and deletion. */

import "~/ui/table.css";
import "./data.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download, Trash2, Upload } from "lucide-react";
import { useRef, useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { upload } from "~/api/files";
import { pagesOf } from "~/api/queries";
import type { StoredFile } from "~/api/schema";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { bytes } from "~/ui/format";
import { Crumbs, PageHead } from "~/ui/pane";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";

const filesOf = (name: string) =>
  pagesOf(["file-store", name], (query, signal) =>
    body(client.GET("/v1/file_stores/{name}/files", { params: { path: { name }, query }, signal })),
  );

export function FilesPage({ store }: { store: string }) {
  useTitle(store);
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const files = useInfiniteQuery(filesOf(store));
  const input = useRef<HTMLInputElement>(null);
  const bring = useMutation({
    mutationFn: async (chosen: readonly File[]) => {
      for (const file of chosen) await upload(store, file.name, file);
      return chosen.length;
    },
    onSuccess: (n) => {
      say({ title: n === 1 ? "The file is there" : `${n} files are there`, shape: "succeeded" });
      void queries.invalidateQueries({ queryKey: ["file-store", store] });
    },
    onError: (error) => say({ title: "It was not taken", about: sentence(error) }),
  });
  return (
    <>
      <PageHead
        acts={
          <>
            <AsCommand
              about={store}
              commands={() => [
                {
                  name: "Command line",
                  text: line`millrace files list ${store}\nmillrace files put ${store} FILE`,
                },
                { name: "curl", text: curlOf("GET", ["file_stores", store, "files"]) },
              ]}
            />
            <input
              ref={input}
              type="file"
              multiple
              hidden
              onChange={(event) => {
                bring.mutate([...(event.target.files ?? [])]);
                event.target.value = "";
              }}
            />
            <Button
              look="primary"
              icon={Upload}
              refused={refused}
              busy={bring.isPending && "Bringing…"}
              onClick={() => input.current?.click()}
            >
              Bring files
            </Button>
          </>
        }
      >
        <Crumbs>
          <Link to="/data">Data</Link>
          <h1 className="cut">{store}</h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        <ListState
          query={files}
          what="The files"
          empty={
            <Empty title="It holds no file.">
              <p>A run that names it finds its files in its folder.</p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-files" aria-label="Files">
              <thead>
                <tr className="tr is-head">
                  <th>Path</th>
                  <th className="is-right">Size</th>
                  <th className="is-right">Changed</th>
                  <th>
                    <span className="sr">Acts</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((file) => (
                  <Row key={file.path} store={store} file={file} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}

function Row({ store, file }: { store: string; file: StoredFile }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      data(
        client.DELETE("/v1/file_stores/{name}/files", {
          params: { path: { name: store }, query: { path: file.path } },
        }),
      ),
    onSuccess: () => {
      setAsks(false);
      void queries.invalidateQueries({ queryKey: ["file-store", store] });
    },
  });
  const address = `/v1/file_stores/${encodeURIComponent(store)}/files/content?path=${encodeURIComponent(file.path)}`;
  return (
    <tr className="tr">
      <td className="mono cut">{file.path}</td>
      <td className="num is-right">{bytes(file.size)}</td>
      <td className="dim is-right">
        <When at={file.updated_at * 1_000} />
      </td>
      <td className="row">
        <a
          className="icon-btn is-sm"
          href={address}
          download={file.path.split("/").at(-1)}
          aria-label={`Take ${file.path}`}
        >
          <Download className="icon is-sm" aria-hidden="true" />
        </a>
        {refused === undefined && (
          <IconButton
            icon={Trash2}
            size="sm"
            label={`Delete ${file.path}`}
            onClick={() => setAsks(true)}
          />
        )}
        <Confirm
          open={asks}
          onClose={() => setAsks(false)}
          title="Delete this file?"
          act="Delete file"
          busy={remove.isPending && "Deleting…"}
          error={remove.error === null ? undefined : sentence(remove.error)}
          onConfirm={() => remove.mutate()}
        >
          <p className="mono wrap">{file.path}</p>
        </Confirm>
      </td>
    </tr>
  );
}
