/**
 * Versions of a source: author and reason of each, differences between two, and going back to one.
 */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import type { Source, SourceDeployment } from "~/api/schema";
import { ListState, useFiltered } from "~/shell/list-state";
import {
  BothVersions,
  CompareVersions,
  GoBack,
  runsInWords,
  unreadOf,
  VersionTable,
} from "~/shell/versions";
import { Empty } from "~/ui/banner";
import { DiffView } from "~/ui/code/diff-view";
import { say } from "~/ui/toast";
import { ValueChanges } from "~/ui/value-changes";
import { sourceChanges } from "./changes";
import { sourceQuery, sourceVersionQuery, sourceVersionsQuery } from "./queries";

export function SourceVersions({
  source,
  compared,
  onCompare,
}: {
  source: Source;
  /** Id of the version that is compared with another. */
  compared: string | undefined;
  onCompare: (id: string | undefined) => void;
}) {
  const versions = useInfiniteQuery(sourceVersionsQuery(source.id));
  // Any two can be compared, and the one that the address names may be on a later page.
  const { reads } = useFiltered(versions, compared !== undefined, "version");
  const [backTo, setBackTo] = useState<SourceDeployment | undefined>(undefined);
  const live = versions.data?.pages[0]?.data[0]?.id;
  return (
    <div className="scroll">
      <ListState
        query={versions}
        what="The versions"
        empty={
          <Empty title="No versions yet.">
            <p>Each change of its code or its props creates one.</p>
          </Empty>
        }
      >
        {(items) => (
          <>
            <VersionTable
              items={items}
              live={live}
              runs={({ runs }) => runsInWords(runs)}
              onCompare={({ id }) => onCompare(id)}
              onBack={setBackTo}
            />
            {!reads && items.some(({ id }) => id === compared) && (
              <CompareVersions
                name={source.name}
                items={items}
                chosen={compared}
                live={live}
                onClose={() => onCompare(undefined)}
              >
                {(before, after) => (
                  <Compared source={source.id} before={before.id} after={after.id} />
                )}
              </CompareVersions>
            )}
          </>
        )}
      </ListState>
      {backTo !== undefined && (
        <Back source={source} live={live} to={backTo} onClose={() => setBackTo(undefined)} />
      )}
    </div>
  );
}

function Compared({ source, before, after }: { source: string; before: string; after: string }) {
  const one = useQuery(sourceVersionQuery(source, before));
  const other = useQuery(sourceVersionQuery(source, after));
  return (
    <BothVersions before={one} after={other}>
      {(before, after) => <Changes before={before} after={after} />}
    </BothVersions>
  );
}

function Changes({ before: one, after: other }: Record<"before" | "after", SourceDeployment>) {
  const values = sourceChanges(one, other);
  const isSameCode = one.code === other.code;
  if (values.length === 0 && isSameCode) return <p className="mid">No visible differences.</p>;
  return (
    <>
      <ValueChanges changes={values} label="Changed values" />
      {!isSameCode && (
        <section className="version-code" aria-label="Code">
          <DiffView before={one.code ?? ""} after={other.code ?? ""} label="Code changes" />
        </section>
      )}
    </>
  );
}

function Back({
  source,
  live,
  to,
  onClose,
}: {
  source: Source;
  live: string | undefined;
  to: SourceDeployment;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const runs = useQuery({
    ...sourceVersionQuery(source.id, live ?? ""),
    enabled: live !== undefined,
  });
  const wanted = useQuery(sourceVersionQuery(source.id, to.id));
  const back = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/sources/{id}/rollback", {
          params: { path: { id: source.id } },
          body: { deployment_id: to.id },
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: sourceQuery(source.id).queryKey });
      void queries.invalidateQueries({ queryKey: sourceVersionsQuery(source.id).queryKey });
      void queries.invalidateQueries({ queryKey: ["sources"] });
      void queries.invalidateQueries({ queryKey: ["source-plan", source.id] });
      onClose();
      say({
        title: `Version ${made.version} is live`,
        about: `with the contents of v${to.version}`,
        shape: "succeeded",
      });
    },
  });
  return (
    <GoBack
      name={source.name}
      to={to}
      says="Its events, its logs and its stored state are kept. Secrets are rolled back too."
      busy={back.isPending}
      error={back.error}
      refused={live === undefined ? undefined : unreadOf(runs, wanted)}
      onGo={() => back.mutate()}
      onClose={onClose}
    >
      {live !== undefined && <Compared source={source.id} before={live} after={to.id} />}
    </GoBack>
  );
}
