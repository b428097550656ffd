/** Sessions of the signed-in person in browsers. */

import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import type { BrowserSession } from "~/api/schema";
import { ListState } from "~/shell/list-state";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { PaneHead } from "~/ui/pane";
import { Tag } from "~/ui/tag";
import { Until, When } from "~/ui/time";
import { say } from "~/ui/toast";
import { browserName } from "./browser-name";
import { ChangePassword } from "./password";

const sessionsQuery = pagesOf(["sessions"], (query, signal) =>
  body(client.GET("/v1/sessions", { params: { query }, signal })),
);

export function Sessions() {
  useTitle("Sessions");
  const sessions = useInfiniteQuery(sessionsQuery);
  const [changes, setChanges] = useState(false);
  return (
    <>
      <PaneHead title="Your sessions" hint="browsers where you are signed in">
        <Button size="sm" icon={KeyRound} onClick={() => setChanges(true)}>
          Change password…
        </Button>
      </PaneHead>
      {changes && <ChangePassword onClose={() => setChanges(false)} />}
      <div className="scroll">
        <ListState query={sessions} what="Your sessions" empty={<Empty title="No sessions." />}>
          {(items) => (
            <table className="tbl t-members" aria-label="Your sessions">
              <thead>
                <tr className="tr is-head">
                  <th>Browser</th>
                  <th>Address</th>
                  <th>Last used</th>
                  <th className="is-right">Expires</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((session) => (
                  <Row key={session.id} of={session} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}

function Row({ of }: { of: BrowserSession }) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => data(client.DELETE("/v1/sessions/{id}", { params: { path: { id: of.id } } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["sessions"] }),
    onError: (error) => say({ title: sentence(error) }),
  });
  return (
    <tr className="tr">
      <td className="cut" title={of.user_agent}>
        {of.current && <Tag>this session</Tag>} {browserName(of.user_agent)}
      </td>
      <td className="mono mid">{of.address}</td>
      <td className="mid">
        <When at={of.used_at * 1_000} />
      </td>
      <td className="dim is-right">
        <Until at={of.expires_at * 1_000} />
      </td>
      <td className="is-right">
        {!of.current && (
          <Button size="sm" busy={end.isPending && "Signing out…"} onClick={() => end.mutate()}>
            Sign out
          </Button>
        )}
      </td>
    </tr>
  );
}
