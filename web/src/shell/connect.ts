/** Connecting an account from anywhere: the frame provides the dialog. */

import { createContext, use } from "react";

export type Connected = { id: string; name: string };

type Connect = (wanted: {
  app: string;
  /** An account to be connected again. */
  account?: Connected;
  onConnected: (account: Connected) => void;
}) => void;

export const ConnectContext = createContext<Connect | null>(null);

export function useConnect(): Connect {
  const connect = use(ConnectContext);
  if (connect === null) throw new Error("no dialog to connect accounts is provided above");
  return connect;
}
