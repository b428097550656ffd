/** Replaying from anywhere: the frame provides the dialog. */

import { createContext, use } from "react";

export type ReplayWanted =
  | {
      /** One run: from its trigger or from a step, and with which code. */
      kind: "one";
      run: string;
      fromStep?: string;
    }
  | {
      /** Chosen runs, or all errors of a group. */
      kind: "many";
      owner: { workflow_id: string } | { source_id: string };
      name: string;
      runs?: readonly string[];
      group?: string;
      count: number;
    };

type Replay = (wanted: ReplayWanted) => void;

export const ReplayContext = createContext<Replay | null>(null);

export function useReplay(): Replay {
  const replay = use(ReplayContext);
  if (replay === null) throw new Error("no dialog to replay is provided above");
  return replay;
}
