/** Dialog that finds the app whose account is to be connected. */

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { body, client } from "~/api/client";
import { useConnect } from "~/shell/connect";
import { Dialog } from "~/ui/dialog";
import { Search } from "~/ui/field";
import { count } from "~/ui/format";
import { Tile } from "~/ui/tag";
import "./choose-app.css";

const MOST = 30;

/** The app whose account is to be connected, by a few letters. */
export function ChooseApp({ onClose }: { onClose: () => void }) {
  const connect = useConnect();
  const [text, setText] = useState("");
  const q = useDeferredValue(text.trim());
  const { data: found, isPending } = useQuery({
    queryKey: ["apps", "of-words", q],
    queryFn: ({ signal }) =>
      body(client.GET("/v1/apps", { params: { query: { q, limit: MOST } }, signal })),
  });
  const apps = found?.data ?? [];
  const total = found?.page_info.total_count ?? 0;
  return (
    <Dialog open onClose={onClose} title="Connect account" about="choose an app">
      <div className="dialog-body">
        <Search
          label="App name"
          autoFocus
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <ul className="app-list" aria-label="Apps">
          {apps.map((app) => (
            <li key={app.id}>
              <button
                type="button"
                onClick={() => {
                  onClose();
                  connect({ app: app.name_slug, onConnected: () => {} });
                }}
              >
                <Tile name={app.name} />
                <span className="cut name">{app.name}</span>
                <span className="small dim end">
                  {app.auth_type === "oauth"
                    ? "OAuth"
                    : app.auth_type === "keys"
                      ? "API key"
                      : "no credentials"}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {total > apps.length && (
          <p className="small dim" role="status">
            {count(apps.length)} of {count(total)} apps. Type more to narrow the search.
          </p>
        )}
        {apps.length === 0 && !isPending && (
          <p className="mid" role="status">
            No app matches. An app that is not in the catalogue is registered when a component that
            uses it is deployed.
          </p>
        )}
      </div>
    </Dialog>
  );
}
