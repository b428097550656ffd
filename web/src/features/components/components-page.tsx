/** Components that the organization published, each under its key. */

import "~/ui/table.css";
import "./components.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import type { Component } from "~/api/schema";
import { ListState, useFiltered } from "~/shell/list-state";
import { useShortcuts } from "~/shell/shortcuts";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button, buttonClass } from "~/ui/button";
import { Search } from "~/ui/field";
import { PageHead, Segments } from "~/ui/pane";
import { Select } from "~/ui/select";
import { Tag, Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { InRegistries } from "./in-registries";
import { componentsQuery, registriesQuery } from "./queries";

type Kind = "all" | "published" | "source" | "action";

export function ComponentsPage({
  q,
  kind,
  registry,
  onFilter,
}: {
  q: string;
  kind: Kind;
  /** The name of the one whose components are shown; none: of any. */
  registry: string | undefined;
  onFilter: (filter: { q: string; kind: Kind; registry: string | undefined }) => void;
}) {
  useTitle("Components");
  const components = useInfiniteQuery(componentsQuery);
  const registries = useInfiniteQuery(registriesQuery);
  const names = registries.data?.pages.flatMap((page) => page.data.map(({ name }) => name)) ?? [];
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ filter: () => field.current?.focus() });
  const words = q.toLowerCase();
  const asked = (q.trim() !== "" || registry !== undefined) && kind !== "published";
  const isFrom = (each: Pick<Component, "registry">) =>
    registry === undefined || each.registry?.name === registry;
  const keys = new Set(
    components.data?.pages.flatMap((page) =>
      page.data.filter(isFrom).flatMap(({ key }) => key ?? []),
    ),
  );
  const filtered = useFiltered(
    components,
    words !== "" || kind !== "all" || registry !== undefined,
    "component",
  );
  return (
    <>
      <PageHead
        acts={
          <Link to="/registries" className={buttonClass({})}>
            Registries
          </Link>
        }
      >
        <h1>Components</h1>
      </PageHead>
      <div className="bar">
        <Search
          ref={field}
          wide
          label="Search names and keys"
          keys="/"
          value={q}
          onChange={(event) => onFilter({ q: event.target.value, kind, registry })}
        />
        <Segments
          label="Kind"
          value={kind}
          onChange={(next) => onFilter({ q, kind: next, registry })}
          choices={[
            ["all", "All"],
            ["published", "Published"],
            ["source", "Sources"],
            ["action", "Actions"],
          ]}
        />
        {(names.length > 0 || registry !== undefined) && (
          <Select
            small
            className="registry-filter"
            aria-label="Registry"
            value={registry ?? ""}
            choices={[
              { value: "", label: "Any registry" },
              ...names.map((name) => ({ value: name, label: name })),
            ]}
            onChange={(name) => onFilter({ q, kind, registry: name === "" ? undefined : name })}
          />
        )}
      </div>
      <div className="scroll">
        <ListState
          query={components}
          what="The components"
          empty={
            asked ? null : (
              <Empty title="No published components.">
                <p>
                  <code className="mono">millrace publish</code> gives code a key and lists it here.
                  Code that is deployed without a key is shown on its source or workflow. Search
                  also finds the components of registries.
                </p>
              </Empty>
            )
          }
        >
          {(items) => {
            const shown = items.filter(
              (each) =>
                `${each.name} ${each.key} ${each.id}`.toLowerCase().includes(words) &&
                (kind === "all" || (kind === "published" ? each.published : each.type === kind)) &&
                isFrom(each),
            );
            if (shown.length === 0 && filtered.reads) return <SkeletonRows rows={6} />;
            if (shown.length === 0 && registry !== undefined && asked) return null;
            if (shown.length === 0) {
              return (
                <Empty title={`None of ${filtered.of} match.`}>
                  <Button onClick={() => onFilter({ q: "", kind: "all", registry: undefined })}>
                    Clear filters
                  </Button>
                </Empty>
              );
            }
            return (
              <table className="tbl t-components" aria-label="Components">
                <thead>
                  <tr className="tr is-head">
                    <th>Name</th>
                    <th>Key</th>
                    <th>Version</th>
                    <th>Kind</th>
                    <th className="is-right">Saved</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((each) => {
                    const name = each.name ?? each.key ?? each.id;
                    return (
                      <tr className="tr" key={each.id}>
                        <td className="row">
                          <Tile name={name} />
                          <Link
                            to="/components/$id"
                            params={{ id: each.id }}
                            className="row-link name cut"
                          >
                            {name}
                          </Link>
                        </td>
                        <td className="mono cut">
                          {each.key}
                          {each.published && (
                            <>
                              {" "}
                              <Tag kind="live">published</Tag>
                            </>
                          )}
                        </td>
                        <td>{each.version !== null && <Tag>{each.version}</Tag>}</td>
                        <td className="mid">{each.type}</td>
                        <td className="dim is-right above">
                          <When at={each.created_at * 1_000} />
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            );
          }}
        </ListState>
        {asked && (
          <InRegistries
            // Nothing of another registry is shown under the name of this one.
            key={registry ?? ""}
            words={q}
            type={kind === "source" || kind === "action" ? kind : undefined}
            registry={registry}
            own={keys}
          />
        )}
      </div>
    </>
  );
}
