/** Router and query client, made once. */

import { QueryClient } from "@tanstack/react-query";
import { createRouter } from "@tanstack/react-router";
import { ApiError } from "./api/errors";
import { routeTree } from "./routes.gen";
import { Crash } from "./shell/crash";
import { Pending } from "./shell/pending";
import { focusHeading } from "./ui/keep-focus";

const RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      // A refusal is an answer: asked again it is the same.
      retry: (failures, error) =>
        failures < RETRIES &&
        !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

export const router = createRouter({
  routeTree,
  context: { queryClient },
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  scrollToTopSelectors: ["#main .scroll"],
  defaultPendingMs: 300,
  // What is shown goes as soon as the page is there.
  defaultPendingMinMs: 0,
  defaultPendingComponent: Pending,
  // In place of the page alone: the ways to other pages stay.
  defaultErrorComponent: Crash,
});

// The link that was followed went with its page: a reader begins at the heading of the next one.
router.subscribe("onRendered", ({ fromLocation, pathChanged }) => {
  if (fromLocation !== undefined && pathChanged) focusHeading();
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
