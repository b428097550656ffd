/** Dialog that finds the app whose account is to be connected. */

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { client, data } from "~/api/client";
import { useConnect } from "~/shell/connect";
import { Dialog } from "~/ui/dialog";
import { Search } from "~/ui/field";
import { Tile } from "~/ui/tag";
import "./choose-app.css";

const MOST = 30;

/** The app whose account is to be connected, by a few letters. */
export function ChooseApp({ onClose }: { onClose: () => void }) {
  const connect = useConnect();
  const [text, setText] = useState("");
  const q = useDeferredValue(text.trim());
  const { data: apps = [], isPending } = useQuery({
    queryKey: ["apps", q],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/apps", { params: { query: { q, limit: MOST } }, signal })),
  });
  return (
    <Dialog open onClose={onClose} title="Connect an account" about="of which app?">
      <div className="dialog-body">
        <Search
          label="Name of an app"
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
                    ? "by its page"
                    : app.auth_type === "keys"
                      ? "by key"
                      : "no key needed"}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {apps.length === 0 && !isPending && (
          <p className="mid" role="status">
            No app is called like that. An app that the catalogue does not know is registered when a
            component that names it is deployed.
          </p>
        )}
      </div>
    </Dialog>
  );
}
