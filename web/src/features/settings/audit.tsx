/** Who changed what: the names of the fields that were given, never their values. */

import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { body, client } from "~/api/client";
import { actorsQuery, pagesOf } from "~/api/queries";
import { sayAct } from "~/shell/act";
import { ListState } from "~/shell/list-state";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { PaneHead } from "~/ui/pane";
import { State } from "~/ui/tag";
import { When } from "~/ui/time";
import { VirtualRows } from "~/ui/virtual-rows";

const auditQuery = pagesOf(
  ["audit"],
  (query, signal) => body(client.GET("/v1/audit", { params: { query }, signal })),
  50,
);

export function Audit() {
  useTitle("Audit");
  const names = useQuery(actorsQuery).data;
  const who = (record: { user_id: string; key_id: string }) =>
    names?.get(record.key_id) ?? names?.get(record.user_id) ?? record.user_id;
  const audit = useInfiniteQuery(auditQuery);
  const scroll = useRef<HTMLDivElement>(null);
  return (
    <>
      <PaneHead title="Audit" hint="every change, and every look at credentials" />
      <div className="scroll" ref={scroll}>
        <ListState
          query={audit}
          what="The records"
          empty={<Empty title="Nothing was changed yet." />}
        >
          {(items) => (
            <table className="tbl t-audit" aria-label="Audit">
              <thead>
                <tr className="tr is-head">
                  <th>When</th>
                  <th>Who</th>
                  <th>Act</th>
                  <th>On</th>
                  <th>Fields given</th>
                </tr>
              </thead>
              <tbody>
                <VirtualRows
                  count={items.length}
                  height={33}
                  scroll={scroll}
                  keyOf={(at) => items[at]?.id ?? String(at)}
                >
                  {(at, row) => {
                    const record = items[at];
                    if (record === undefined) return null;
                    return (
                      <tr {...row} className="tr">
                        <td className="dim">
                          <When at={record.created_at_ms} />
                        </td>
                        <td className="cut" title={`${record.user_id}, ${record.key_id}`}>
                          {who(record)}
                        </td>
                        <td className="cut" title={record.action}>
                          {sayAct(record.action)}
                          {!record.done && (
                            <>
                              {" "}
                              <State kind="warn">not finished</State>
                            </>
                          )}
                        </td>
                        <td className="mono mid cut">{record.target}</td>
                        <td className="small dim cut">{record.fields.join(", ")}</td>
                      </tr>
                    );
                  }}
                </VirtualRows>
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}
