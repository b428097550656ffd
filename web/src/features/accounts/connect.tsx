/** Provider of the dialog that connects an account, loaded on first use. */

import { lazy, type ReactNode, Suspense, useState } from "react";
import { ConnectContext } from "~/shell/connect";
import type { Wanted } from "./connect-dialog";

const ConnectDialog = lazy(async () => ({
  default: (await import("./connect-dialog")).ConnectDialog,
}));

/** Provides the dialog that connects an account to all pages; it is loaded when it is wanted. */
export function ConnectProvider({ children }: { children: ReactNode }) {
  const [wanted, setWanted] = useState<Wanted | null>(null);
  return (
    <ConnectContext value={setWanted}>
      {children}
      <Suspense>
        {wanted !== null && (
          <ConnectDialog key={wanted.app} wanted={wanted} onClose={() => setWanted(null)} />
        )}
      </Suspense>
    </ConnectContext>
  );
}
