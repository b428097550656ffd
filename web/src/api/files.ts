/** Bodies that are no JSON: files. */

import { body, client } from "./client";

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
