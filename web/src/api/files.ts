/** Bodies that are no JSON: files. */

import { body, client, data } from "./client";

export async function upload(store: string, path: string, file: Blob): Promise<void> {
  await body(
    client.PUT("/v1/file_stores/{name}/files", {
      params: { path: { name: store }, query: { path } },
      body: file as never,
      bodySerializer: (given: unknown) => given as Blob,
      headers: { "content-type": "application/octet-stream" },
    }),
  );
}

/** Puts an archive in the place of a registry's tree. */
export const updateRegistry = (name: string, archive: File) =>
  data(
    client.PUT("/v1/registries/{name}", {
      params: {
        path: { name },
        query: { origin: `${archive.name} (archive, uploaded in the browser)` },
      },
      body: archive as never,
      bodySerializer: (given: unknown) => given as Blob,
      headers: { "content-type": "application/gzip" },
    }),
  );
