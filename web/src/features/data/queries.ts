/** Query of a data store. */

import { queryOptions } from "@tanstack/react-query";
import { client, data } from "~/api/client";

export const storeQuery = (id: string) =>
  queryOptions({
    queryKey: ["data-store", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/data_stores/{id}", { params: { path: { id } }, signal })),
  });
