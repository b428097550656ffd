/** Sources that need no account; their code comes when one is chosen. */

export type Example = { id: string; name: string; says: string; read: () => Promise<string> };

export const examples: readonly Example[] = [
  {
    id: "schedule",
    name: "Schedule",
    says: "An event at an interval, or by cron",
    read: async () =>
      (
        await import(
          "../../../../components/schedule/sources/custom-interval/custom-interval.mjs?raw"
        )
      ).default,
  },
  {
    id: "http",
    name: "HTTP requests",
    says: "An event for each request to its own URL",
    read: async () =>
      (await import("../../../../components/http/sources/new-requests/new-requests.mjs?raw"))
        .default,
  },
  {
    id: "rss",
    name: "New item in feed",
    says: "An event for each new item of an RSS or Atom feed",
    read: async () =>
      (await import("../../../../components/rss/sources/new-item-in-feed/new-item-in-feed.mjs?raw"))
        .default,
  },
];
