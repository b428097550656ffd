/** The dialog that connects an account: fields of the app, or the provider's page in a window of its own. */

import "./connect.css";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { appQuery } from "~/api/queries";
import type { Connected } from "~/shell/connect";
import { ReadFailed } from "~/shell/read-failed";
import { Dialog } from "~/ui/dialog";
import type { Typed } from "./app-fields";
import { ByKey } from "./by-key";
import { ByProvider } from "./by-provider";
import { OauthClient } from "./oauth-client";

export type Wanted = {
  app: string;
  /** An account that is connected again. */
  account?: Connected;
  onConnected: (account: Connected) => void;
};

export function ConnectDialog({ wanted, onClose }: { wanted: Wanted; onClose: () => void }) {
  const { data: app, error, refetch } = useQuery(appQuery(wanted.app));
  const [changesClient, setChangesClient] = useState(false);
  // Also while the client is changed, after which it is tried again.
  const [typed, setTyped] = useState<Typed>({ name: "", values: {} });
  const connected = (account: Connected) => {
    wanted.onConnected(account);
    onClose();
  };
  const name = app?.name ?? wanted.app;
  const again = wanted.account === undefined ? "Connect" : "Reconnect";
  const needsClient = app?.auth_type === "oauth" && (app.oauth === null || changesClient);
  return (
    <Dialog open onClose={onClose} title={`${again} ${name}`}>
      {error !== null && <ReadFailed what="The app" error={error} again={refetch} />}
      {app !== undefined && app.auth_type !== "oauth" && (
        <ByKey
          app={app}
          accountId={wanted.account?.id}
          typed={typed}
          onType={setTyped}
          onConnected={connected}
        />
      )}
      {app !== undefined && needsClient && (
        <OauthClient
          app={app}
          onSaved={() => setChangesClient(false)}
          {...(app.oauth === null ? {} : { onBack: () => setChangesClient(false) })}
        />
      )}
      {app !== undefined && app.auth_type === "oauth" && !needsClient && (
        <ByProvider
          app={app}
          accountId={wanted.account?.id}
          typed={typed}
          onType={setTyped}
          onConnected={connected}
          onClient={() => setChangesClient(true)}
        />
      )}
    </Dialog>
  );
}
