/** Page of a file store: its files, with download, upload and deletion. */

import "~/ui/table.css";
import "./data.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download, Trash2, Upload } from "lucide-react";
import { useRef, useState } from "react";
import { body, client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import { upload } from "~/api/files";
import { allOf, pagesOf } from "~/api/queries";
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
  const list = useRef<HTMLDivElement>(null);
  /** Chosen files, and the names of those that the store has already. */
  const [asks, setAsks] = useState<{ chosen: readonly File[]; had: readonly string[] }>();
  const bring = useMutation({
    mutationFn: async ({ chosen, over }: { chosen: readonly File[]; over: boolean }) => {
      if (!over) {
        const stored = await storedPaths(store);
        const had = chosen.map(({ name }) => name).filter((name) => stored.has(name));
        if (had.length > 0) return setAsks({ chosen, had });
      }
      setAsks(undefined);
      const names = chosen.map(({ name }) => name);
      for (const [at, file] of chosen.entries()) {
        await upload(store, file.name, file).catch((error: Error) => {
          throw at === 0 && names.length === 1
            ? error
            : new Error(broughtInPart(names, at, sentence(error)));
        });
      }
      const title = names.length === 1 ? "File uploaded" : `${names.length} files uploaded`;
      say({ title, shape: "succeeded" });
    },
    onError: (error) => say({ title: "Some files were not uploaded", about: sentence(error) }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["file-store", store] }),
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
                bring.mutate({ chosen: [...(event.target.files ?? [])], over: false });
                event.target.value = "";
              }}
            />
            <Button
              look="primary"
              icon={Upload}
              refused={refused}
              busy={bring.isPending && "Uploading…"}
              onClick={() => input.current?.click()}
            >
              Upload
            </Button>
          </>
        }
      >
        <Crumbs>
          <Link to="/data">Data</Link>
          <h1 className="cut">{store}</h1>
        </Crumbs>
      </PageHead>
      <Confirm
        open={asks !== undefined}
        onClose={() => setAsks(undefined)}
        title="Replace stored files?"
        act="Replace"
        onConfirm={() => asks && bring.mutate({ chosen: asks.chosen, over: true })}
      >
        <p>The store already has files with these names. Their contents will be overwritten:</p>
        <p className="mono wrap">{asks?.had.join(", ")}</p>
      </Confirm>
      <div ref={list} tabIndex={-1} className="scroll">
        <ListState
          query={files}
          what="The files"
          empty={
            <Empty title="No files yet.">
              <p>A run that uses this store finds its files in a folder.</p>
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
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((file) => (
                  <Row
                    key={file.path}
                    store={store}
                    file={file}
                    onGone={() => list.current?.focus()}
                  />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}

/** All paths, also those of pages that the list has not read yet. */
async function storedPaths(name: string): Promise<ReadonlySet<string>> {
  const files = await allOf((page) =>
    body(client.GET("/v1/file_stores/{name}/files", { params: { path: { name }, query: page } })),
  ).catch((error) => {
    // The first file makes the store.
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  });
  return new Set(files.map(({ path }) => path));
}

/** What a refusal left of several files: those before it are stored. */
function broughtInPart(names: readonly string[], at: number, why: string): string {
  const there = names.slice(0, at).join(", ");
  return `${why} Stored: ${there || "none"}. Not stored: ${names.slice(at).join(", ")}.`;
}

function Row({
  store,
  file,
  onGone,
}: {
  store: string;
  file: StoredFile;
  /** The focus has to go elsewhere: the row that has it goes. */
  onGone: () => void;
}) {
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
      // Once the row is gone, and with it the button that the dialog gives the focus back to.
      void queries.invalidateQueries({ queryKey: ["file-store", store] }).then(onGone);
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
          aria-label={`Download ${file.path}`}
        >
          <Download className="icon is-sm" aria-hidden="true" />
        </a>
        <IconButton
          icon={Trash2}
          size="sm"
          label={`Delete ${file.path}`}
          refused={refused}
          onClick={() => setAsks(true)}
        />
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
