/** Provider of the dialogs of replays, loaded on first use. */

import { lazy, type ReactNode, Suspense, useState } from "react";
import { ReplayContext, type ReplayWanted } from "~/shell/replay";

const ReplayDialog = lazy(async () => ({
  default: (await import("./replay-dialog")).ReplayDialog,
}));
const ReplayManyDialog = lazy(async () => ({
  default: (await import("./replay-many")).ReplayManyDialog,
}));

/** Provides the dialog of replays to all pages; it is loaded when it is wanted. */
export function ReplayProvider({ children }: { children: ReactNode }) {
  const [wanted, setWanted] = useState<ReplayWanted | null>(null);
  const close = () => setWanted(null);
  return (
    <ReplayContext value={setWanted}>
      {children}
      <Suspense>
        {wanted?.kind === "one" && (
          <ReplayDialog
            key={wanted.run}
            id={wanted.run}
            fromStep={wanted.fromStep}
            onClose={close}
          />
        )}
        {wanted?.kind === "many" && <ReplayManyDialog wanted={wanted} onClose={close} />}
      </Suspense>
    </ReplayContext>
  );
}
