import { type ReactNode, useState } from "react";
import { ReplayContext, type ReplayWanted } from "~/shell/replay";
import { ReplayDialog } from "./replay-dialog";
import { ReplayManyDialog } from "./replay-many";

/** Provides the dialog of replays to all pages. */
export function ReplayProvider({ children }: { children: ReactNode }) {
  const [wanted, setWanted] = useState<ReplayWanted | null>(null);
  const close = () => setWanted(null);
  return (
    <ReplayContext value={setWanted}>
      {children}
      {wanted?.kind === "one" && (
        <ReplayDialog key={wanted.run} id={wanted.run} fromStep={wanted.fromStep} onClose={close} />
      )}
      {wanted?.kind === "many" && <ReplayManyDialog wanted={wanted} onClose={close} />}
    </ReplayContext>
  );
}
