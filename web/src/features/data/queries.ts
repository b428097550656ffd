/** Queries of data stores, their keys and values; values are texts, as numbers lose digits parsed. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import { isObject, numberOf, textOf } from "~/api/json";
import { pagesOf } from "~/api/queries";
import { ExactJson } from "~/json/exact";

export const storeQuery = (id: string) =>
  queryOptions({
    queryKey: ["data-store", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/data_stores/{id}", { params: { path: { id } }, signal })),
  });

const GLANCE = 80;

/** The keys of a store, each with the beginning of its value. */
export const keysQuery = (id: string, prefix: string) =>
  pagesOf(["data-store", id, "keys", prefix], async (page, signal) => {
    const query = { ...page, values: true, ...(prefix === "" ? {} : { prefix }) };
    const params = { path: { id }, query };
    const read = client.GET("/v1/data_stores/{id}/keys", { params, signal, parseAs: "text" });
    const answer = await body<string>(read);
    const given: Keys = JSON.parse(answer);
    const values = ExactJson.parse(answer)
      .at("data")
      .items()
      .map((item) => item.at("value").text());
    return {
      page_info: given.page_info,
      data: given.data.map(({ key, value }, at) => ({
        key,
        glance: (previewOf(value) ?? values[at] ?? "").slice(0, GLANCE),
      })),
    };
  });

type Keys = {
  data: { key: string; value: unknown }[];
  page_info: { end_cursor: string | null; total_count: number };
};

/** The beginning of a large value, which the server cuts. */
function previewOf(value: unknown): string | undefined {
  return isObject(value) && value.$truncated === true ? textOf(value.$preview) : undefined;
}

/** A value as JSON, and when it ends, epoch milliseconds. */
export type StoredValue = { text: string; endsAt: number | undefined };

export async function readRecord(
  store: string,
  key: string,
  signal?: AbortSignal,
): Promise<StoredValue> {
  const params = { path: { id: store }, query: { key } };
  const answer = await body<string>(
    client.GET("/v1/data_stores/{id}/record", {
      params,
      parseAs: "text",
      ...(signal === undefined ? {} : { signal }),
    }),
  );
  const record = ExactJson.parse(answer).at("data");
  const endsAt: unknown = JSON.parse(record.at("expires_at_ms").text() || "null");
  return { text: record.at("value").text(2), endsAt: numberOf(endsAt) };
}

/** The same, `undefined` where the store has no such key. */
export function findRecord(store: string, key: string): Promise<StoredValue | undefined> {
  return readRecord(store, key).catch((error) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
}

/** Writes a value as its text says it. */
export function writeRecord(store: string, key: string, { text, endsAt }: StoredValue) {
  const ends = endsAt === undefined ? "" : `,"expires_at_ms":${endsAt}`;
  return data(
    client.PUT("/v1/data_stores/{id}/record", {
      params: { path: { id: store } },
      body: { key, value: null },
      bodySerializer: () => `{"key":${JSON.stringify(key)},"value":${text}${ends}}`,
    }),
  );
}

export const recordQuery = (store: string, key: string) =>
  queryOptions({
    queryKey: ["data-store", store, "record", key],
    queryFn: ({ signal }) => readRecord(store, key, signal),
    retry: false,
  });
