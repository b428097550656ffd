/** Audit log: person, action, and the names of the given fields, never their values. */

import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { body, client } from "~/api/client";
import { actorsQuery, membersQuery, ownersQuery, pagesOf } from "~/api/queries";
import { sayAct } from "~/shell/act";
import { ListState } from "~/shell/list-state";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Search } from "~/ui/field";
import { PaneHead, Segments } from "~/ui/pane";
import { Select } from "~/ui/select";
import { State } from "~/ui/tag";
import { When } from "~/ui/time";
import { VirtualRows } from "~/ui/virtual-rows";
import { AGES, type AuditFilter } from "./audit-filter";

const DAY_MS = 86_400_000;

const auditQuery = ({ user, target, age }: AuditFilter) =>
  pagesOf(
    ["audit", user, target, age],
    (page, signal) => {
      const query = {
        ...page,
        ...(user === undefined ? {} : { user_id: user }),
        ...(target === undefined ? {} : { target }),
        ...(age === undefined ? {} : { from: Date.now() - AGES[age] * DAY_MS }),
      };
      return body(client.GET("/v1/audit", { params: { query }, signal }));
    },
    50,
  );

const EVERYBODY = "$all";

export function Audit({
  filter,
  onFilter,
}: {
  filter: AuditFilter;
  onFilter: (next: AuditFilter) => void;
}) {
  useTitle("Audit log");
  const names = useQuery(actorsQuery).data;
  const owners = useQuery(ownersQuery).data;
  const nameOf = (target: string) => owners?.get(target)?.name ?? names?.get(target);
  const who = (record: { user_id: string; user_name: string | null; key_id: string }) =>
    names?.get(record.key_id) ?? record.user_name ?? record.user_id;
  const audit = useInfiniteQuery(auditQuery(filter));
  const members = useQuery(membersQuery).data ?? [];
  const filtered = Object.keys(filter).length > 0;
  const change = (next: { [K in keyof AuditFilter]: AuditFilter[K] | undefined }) => {
    const { user, target, age } = { ...filter, ...next };
    onFilter({
      ...(user === undefined ? {} : { user }),
      ...(target === undefined ? {} : { target }),
      ...(age === undefined ? {} : { age }),
    });
  };
  const scroll = useRef<HTMLDivElement>(null);
  return (
    <>
      <PaneHead title="Audit log" hint="every change, and every access to credentials" />
      <div className="bar">
        <Select
          small
          aria-label="Actor"
          value={filter.user ?? EVERYBODY}
          onChange={(user) => change({ user: user === EVERYBODY ? undefined : user })}
          choices={[
            { value: EVERYBODY, label: "Everyone" },
            ...members.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <Target key={filter.target} of={filter.target} onChange={(target) => change({ target })} />
        <Segments
          label="Time"
          value={filter.age ?? "all"}
          onChange={(age) => change({ age: age === "all" ? undefined : age })}
          choices={[
            ["all", "All"],
            ["day", "24 h"],
            ["week", "7 d"],
            ["month", "30 d"],
          ]}
        />
        {filtered && (
          <Button size="sm" look="quiet" onClick={() => onFilter({})}>
            Clear filters
          </Button>
        )}
      </div>
      <div className="scroll" ref={scroll}>
        <ListState
          query={audit}
          what="The records"
          empty={
            <Empty title={filtered ? "No record matches." : "No changes yet."}>
              {filtered && <Button onClick={() => onFilter({})}>Clear filters</Button>}
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-audit" aria-label="Audit log">
              <thead>
                <tr className="tr is-head">
                  <th>When</th>
                  <th>Actor</th>
                  <th>Action</th>
                  <th>Target</th>
                  <th>Fields</th>
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
                        <td className="mid cut">
                          {record.target !== null && (
                            <button
                              type="button"
                              className={
                                nameOf(record.target) ? "quiet-link cut" : "quiet-link mono cut"
                              }
                              title={`Only changes to ${record.target}`}
                              onClick={() => change({ target: record.target ?? undefined })}
                            >
                              {nameOf(record.target) ?? record.target}
                            </button>
                          )}
                        </td>
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

/** An id, or what else stands in the path; asked for with the return key. */
function Target({
  of,
  onChange,
}: {
  of: string | undefined;
  onChange: (target: string | undefined) => void;
}) {
  const [text, setText] = useState(of ?? "");
  const ask = (typed: string) => onChange(typed.trim() === "" ? undefined : typed.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        ask(text);
      }}
    >
      <Search
        label="Target ID"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") ask("");
        }}
      />
    </form>
  );
}
