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
      /** Chosen runs, all errors of a group, or all that a filter of `GET /v1/runs` matches. */
      kind: "many";
      owner?: { workflow_id: string } | { source_id: string };
      /** What they are runs of, in words. */
      name: string;
      /** Some of them are of workflows, which may begin with a step. */
      stepwise: boolean;
      /** New name of the step that failed: the server knows it by this name alone. */
      fromStep?: string | undefined;
      runs?: readonly string[];
      group?: string;
      /** The live version mends the error of the group: the dialog offers to resolve it at once. */
      mended?: boolean;
      filter?: Readonly<Record<string, unknown>>;
      /** Where it is not known, the server counts. */
      count?: number;
    };

type Replay = (wanted: ReplayWanted) => void;

export const ReplayContext = createContext<Replay | null>(null);

export function useReplay(): Replay {
  const replay = use(ReplayContext);
  if (replay === null) throw new Error("no dialog to replay is provided above");
  return replay;
}
