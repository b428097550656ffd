/** Entry of the web application. */

import "./api/brought";
import "./styles/tokens.css";
import "./styles/fonts.css";
import "./styles/base.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { Tooltip } from "@base-ui/react/tooltip";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { observe } from "./api/observers";
import { nonce } from "./api/page";
import { queryClient, router } from "./router";
import { check, found, lost, whenFound } from "./shell/connection";
import { sessionQuery } from "./shell/session";
import { NonceContext } from "./ui/nonce";
import { TIP_DELAY_MS } from "./ui/tip";
import { Toasts } from "./ui/toast";

whenFound(() => {
  for (const link of missing) link.replaceWith(link.cloneNode());
  missing.clear();
  void queryClient.invalidateQueries();
});
observe({
  onAnswer: found,
  onLost: lost,
  onStreamEnd: () => void check(),
  // The session ended meanwhile: its query fails, and the frame asks to sign in again.
  onSignedOut: () => void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey }),
});

// What the address needs is asked for before anything is drawn, and at the same time: the code of
// its page, and the session, which the frame waits for.
const matched = new Set(router.matchRoutes(router.latestLocation).map(({ routeId }) => routeId));
for (const route of Object.values(router.routesById)) {
  // What does not come is asked for again by the router, which says so.
  if (matched.has(route.id)) router.loadRouteChunk(route)?.catch(() => undefined);
}
if (matched.has("/_app")) void queryClient.prefetchQuery(sessionQuery);

// Code or a style sheet that did not come: the server is asked whether it is there.
addEventListener("vite:preloadError", lost);
// The loader asks for a style sheet once: one that did not come is put into the page anew when the server is back.
const missing = new Set<HTMLLinkElement>();
document.addEventListener(
  "error",
  ({ target }) => {
    if (target instanceof HTMLLinkElement && target.rel === "stylesheet") missing.add(target);
  },
  { capture: true },
);

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no element `root`");
createRoot(root).render(
  <StrictMode>
    <CSPProvider nonce={nonce} disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <Tooltip.Provider delay={TIP_DELAY_MS} closeDelay={0}>
          <NonceContext value={nonce}>
            <Toasts>
              <RouterProvider router={router} />
            </Toasts>
          </NonceContext>
        </Tooltip.Provider>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
