import { infiniteQueryOptions } from "@tanstack/react-query";
import { body, client } from "~/api/client";

const PAGE = 50;

export const groupsQuery = infiniteQueryOptions({
  queryKey: ["error-groups"],
  initialPageParam: undefined,
  queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
    body(
      client.GET("/v1/error_groups", {
        params: { query: { limit: PAGE, after: pageParam } },
        signal,
      }),
    ),
  getNextPageParam: (last) =>
    last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
});
