/** Cron lines in words, as the server spells them. */

import { queryOptions, useQuery } from "@tanstack/react-query";

/** A cron line in words, or what is wrong with it. */
export const cronWordsQuery = (cron: string) =>
  queryOptions({
    queryKey: ["cron", cron],
    queryFn: async (): Promise<{ words?: string; problem?: string }> => {
      const { default: cronstrue } = await import("cronstrue");
      try {
        return { words: cronstrue.toString(cron, { use24HourTimeFormat: true, verbose: false }) };
      } catch (error) {
        return { problem: String(error).replace(/^Error: /, "") };
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

/** "At 09:00, Monday through Friday"; the line itself until the words are there. */
export function useCronWords(cron: string | undefined): string {
  const { data } = useQuery({ ...cronWordsQuery(cron ?? ""), enabled: cron !== undefined });
  return data?.words ?? `cron ${cron ?? ""}`;
}
