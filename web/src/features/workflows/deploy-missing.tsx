/**
 * Notice before a deploy of missing parts of steps: values, accounts, and results of other steps.
 */

import { useQuery } from "@tanstack/react-query";
import { Banner } from "~/ui/banner";
import { lacksOf } from "./lacks";
import type { Draft } from "./model";
import { type Dangling, danglingOf, referenceReader } from "./references";
import { savedOf } from "./state";
import { useBuilder } from "./use-builder";

const WHY: Readonly<Record<Dangling["why"], string>> = {
  missing: "no step has that name",
  later: "it runs later",
  off: "it is turned off",
};

function useDangling(draft: Draft): Dangling[] {
  const { data: read } = useQuery({
    queryKey: ["reference-reader"],
    queryFn: async () => ({ read: await referenceReader() }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return read === undefined ? [] : danglingOf(read.read, draft);
}

export function DeployMissing() {
  const { draft, state } = useBuilder();
  const dangling = useDangling(draft);
  return (
    <>
      {draft.steps.map((step) => {
        const saved = savedOf(state, step);
        const { values, accounts } = lacksOf(step, saved?.defs ?? [], saved?.sealed ?? []);
        const lacks = [...accounts.map((name) => `the account ${name}`), ...values];
        if (lacks.length === 0) return null;
        return (
          <Banner
            key={step.key}
            kind="waits"
            title={`${step.namespace} is missing ${lacks.join(", ")}`}
          >
            It will fail when it runs.
          </Banner>
        );
      })}
      {draft.steps.map(
        ({ key, namespace, invalid }) =>
          invalid !== undefined && (
            <Banner key={key} kind="failed" title={`${namespace} has fields that are not valid`}>
              <ul>
                {Object.entries(invalid).map(([name, { label, why }]) => (
                  <li key={name}>
                    {label}: {why}
                  </li>
                ))}
              </ul>
            </Banner>
          ),
      )}
      {dangling.length > 0 && (
        <Banner kind="waits" title="Steps read results that do not exist">
          <ul>
            {dangling.map(({ step, reads, why }) => (
              <li key={`${step} ${reads}`}>
                <span className="mono">{step}</span> reads{" "}
                <span className="mono">steps.{reads}</span>: {WHY[why]}
              </li>
            ))}
          </ul>
        </Banner>
      )}
    </>
  );
}
