/**
 * Warnings before a deploy: props of a step without a value, values for props that it does not
 * have, refused accounts, steps that were not tested in their current form, a project that undoes
 * the deploy.
 */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { body, client } from "~/api/client";
import { isObject, textOf } from "~/api/json";
import { allOf } from "~/api/queries";
import { Banner } from "~/ui/banner";
import type { Draft } from "./model";
import { useBuilder } from "./use-builder";

/** Ids of accounts that the values of steps name. */
export function accountsOfSteps({ steps }: Pick<Draft, "steps">): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const look = (value: unknown, step: string): void => {
    if (Array.isArray(value)) for (const each of value) look(each, step);
    if (!isObject(value)) return;
    const id = textOf(value.authProvisionId);
    if (id !== undefined) found.set(id, [...new Set([...(found.get(id) ?? []), step])]);
    else for (const each of Object.values(value)) look(each, step);
  };
  for (const step of steps) if (!step.disabled) look(step.props, step.namespace);
  return found;
}

/** `changed`: names of the steps that the deploy changes, all of them at the first. */
export function DeployWarnings({ changed }: { changed: ReadonlySet<string> }) {
  const { draft, test, state } = useBuilder();
  const used = accountsOfSteps(draft);
  const { data: accounts } = useQuery({
    queryKey: ["accounts", "health"],
    queryFn: ({ signal }) =>
      allOf((page) =>
        body(
          client.GET("/v1/accounts", {
            params: { query: { ...page, include: "id,name,healthy,problem" } },
            signal,
          }),
        ),
      ),
    enabled: used.size > 0,
    staleTime: 0,
  });
  const refused = (accounts ?? []).filter(({ id, healthy }) => used.has(id) && !healthy);
  const untested = draft.steps.filter((step) => {
    if (step.disabled || !changed.has(step.namespace)) return false;
    const result = test.ofStep(step.key);
    return result === undefined || result.status === "waiting" || result.changed;
  });
  const failed = draft.steps.filter((step) => {
    const result = test.ofStep(step.key);
    return !step.disabled && result?.status === "failed" && !result.changed;
  });
  const doubtful = state.base.steps.filter(({ warnings }) => (warnings ?? []).length > 0);
  return (
    <>
      {doubtful.map(({ namespace, warnings }) => (
        <Banner key={namespace} kind="waits" title={`${namespace} may not run`}>
          {(warnings ?? []).map((warning) => `In ${namespace} ${warning}.`).join(" ")}
        </Banner>
      ))}
      {refused.map(({ id, name, problem }) => (
        <Banner key={id} kind="waits" title={`The account ${name} needs to be reconnected`}>
          {problem !== null && `${problem} `}
          {used.get(id)?.join(", ")} {used.get(id)?.length === 1 ? "uses" : "use"} it.{" "}
          <Link to="/accounts" className="link">
            Accounts
          </Link>
        </Banner>
      ))}
      {failed.length > 0 && (
        <Banner kind="waits" title={`${namesOf(failed)} failed in the last test`}>
          With the current code and props.
        </Banner>
      )}
      {untested.length > 0 && (
        <Banner
          kind="waits"
          title={`${namesOf(untested)} ${isOne(untested) ? "is" : "are"} not tested`}
        >
          No test since the last change.
        </Banner>
      )}
      {isObject(state.base.made_from) && (
        <Banner
          kind="waits"
          title={`Managed by project ${textOf(state.base.made_from.project) ?? ""}`}
        >
          The next <code className="mono">millrace apply</code> overwrites this deploy unless the
          project has the same changes. Export them with <em>Changes as files</em> on the workflow's
          page.
        </Banner>
      )}
    </>
  );
}

type Named = readonly { namespace: string }[];

const isOne = (steps: Named) => steps.length === 1;

const namesOf = (steps: Named) => steps.map(({ namespace }) => namespace).join(", ");
