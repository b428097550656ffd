/** Pages of the side bar whose code is loaded before they are opened. */

import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { useConnection } from "./connection";
import { groups } from "./nav";

/** By then the page that was asked for is there, as a rule. */
const WHEN_SHOWN_MS = 1_500;

/** Whether the reader asked the browser to load no more than is needed. */
const savesData = (): boolean => {
  const connection: unknown = "connection" in navigator ? navigator.connection : undefined;
  return (
    typeof connection === "object" &&
    connection !== null &&
    "saveData" in connection &&
    connection.saveData === true
  );
};

/** Brings the code of the side bar's pages, one after the other, once what was asked for is shown: going there waits for data alone. */
export function useBroughtPages() {
  const router = useRouter();
  const isLost = useConnection() !== null;
  useEffect(() => {
    if (isLost || savesData()) return;
    let stopped = false;
    const bring = async () => {
      for (const { to } of groups.flatMap(({ places }) => places)) {
        if (stopped) return;
        const route = Object.entries(router.routesByPath).find(([path]) => path === to)?.[1];
        if (route !== undefined) await router.loadRouteChunk(route);
      }
    };
    const later = window.setTimeout(() => void bring(), WHEN_SHOWN_MS);
    return () => {
      stopped = true;
      window.clearTimeout(later);
    };
  }, [router, isLost]);
}
