/** Components of registries that fit a search. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { client, data } from "~/api/client";
import type { FoundComponent } from "~/api/schema";
import { ActLink } from "~/shell/act-link";
import { BestOf } from "~/shell/best-of";
import { ReadFailed } from "~/shell/read-failed";
import { Empty, SkeletonRows } from "~/ui/banner";
import { PaneHead } from "~/ui/pane";
import { Tag, Tile } from "~/ui/tag";

const MOST = 50;

/** `own`: keys that the organization published, which are found above. */
export function InRegistries({
  words,
  type,
  registry,
  own,
}: {
  words: string;
  type: "source" | "action" | undefined;
  /** Its name; none: of all. */
  registry: string | undefined;
  own: ReadonlySet<string>;
}) {
  const query = useDeferredValue(words.trim());
  const {
    data: found,
    error,
    refetch,
  } = useQuery({
    queryKey: ["component-search", "of-page", query, type, registry],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/components/search", {
          params: {
            query: {
              query,
              limit: MOST,
              ...(type === undefined ? {} : { type }),
              ...(registry === undefined ? {} : { registry }),
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const components = found?.components.filter(({ key }) => !own.has(key));
  return (
    <section aria-labelledby="in-registries">
      <PaneHead
        id="in-registries"
        title={registry === undefined ? "In registries" : `In ${registry}`}
      />
      {error !== null && <ReadFailed what="The registries" error={error} again={refetch} />}
      {error === null && components === undefined && <SkeletonRows rows={6} />}
      {components?.length === 0 && <Empty title={noneWords(registry, found)} />}
      {components !== undefined && components.length > 0 && (
        <table className="tbl t-components" aria-label="Components of registries">
          <thead>
            <tr className="tr is-head">
              <th>Name</th>
              <th>Key</th>
              <th>Version</th>
              <th>Kind</th>
              <th>
                <span className="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {components.map((each) => (
              <Row key={each.key} of={each} shows={registry === undefined} />
            ))}
          </tbody>
        </table>
      )}
      {found !== undefined && <BestOf n={found.components.length} most={MOST} />}
    </section>
  );
}

/** Why nothing is listed: nothing was found, or all that was found is listed above. */
function noneWords(
  registry: string | undefined,
  found: { components: readonly unknown[] } | undefined,
): string {
  if (found !== undefined && found.components.length > 0) {
    return "All matching components are listed above.";
  }
  return registry === undefined
    ? "No component in the registries matches."
    : `No component in ${registry} matches.`;
}

/** `shows`: the registry is said beside the key. */
function Row({ of, shows }: { of: FoundComponent; shows: boolean }) {
  const name = of.name === "" ? of.key : of.name;
  return (
    <tr className="tr">
      <td className="row" title={of.description}>
        <Tile name={name} />
        <Link to="/components/$id" params={{ id: of.key }} className="row-link name cut">
          {name}
        </Link>
      </td>
      <td className="cut">
        <span className="mono">{of.key}</span>
        {shows && of.registry !== null && <span className="dim small"> {of.registry}</span>}
      </td>
      <td>{of.version !== "" && <Tag>{of.version}</Tag>}</td>
      <td className="mid">{of.type}</td>
      <td className="is-right above">
        {of.type === "source" && (
          <ActLink
            to="/sources"
            search={{ action: "create", key: of.key }}
            needs="deploy"
            size="sm"
            aria-label={`Deploy ${name}`}
          >
            Deploy…
          </ActLink>
        )}
      </td>
    </tr>
  );
}
