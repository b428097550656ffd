/** List of the organization's workflows: triggers, last run and errors of each. */

import "~/ui/table.css";
import "./list.css";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { useRef } from "react";
import { isObject, textOf } from "~/api/json";
import { liveTriggersQuery } from "~/api/live-triggers";
import { statusOf } from "~/api/runs";
import type { Workflow } from "~/api/schema";
import { useLiveRuns } from "~/api/stream";
import { ActLink } from "~/shell/act-link";
import { type Column, ColumnsMenu, useColumns } from "~/shell/columns";
import { ListState, useFiltered } from "~/shell/list-state";
import { RunsOfDay } from "~/shell/runs-of-day";
import { useShortcuts } from "~/shell/shortcuts";
import { Starts } from "~/shell/starts";
import { useTitle } from "~/shell/title";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { cn } from "~/ui/cn";
import { Search } from "~/ui/field";
import { plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { BarStatus, PageHead, Segments } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tag, Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { VirtualRows } from "~/ui/virtual-rows";
import { startsOf } from "./model";
import {
  lastRunQuery,
  newestRunsQuery,
  openErrorsOfQuery,
  openErrorsQuery,
  workflowsQuery,
} from "./queries";

const ROW_HEIGHT = 33;
const TAGS_SHOWN = 2;

const COLUMNS: readonly Column[] = [
  { name: "state", label: "State" },
  { name: "starts", label: "Starts" },
  { name: "runs", label: "Runs, 24 h" },
  { name: "last", label: "Last run" },
  { name: "errors", label: "Errors" },
  { name: "changed", label: "Changed" },
];

export type WorkflowState = "active" | "inactive";

type Filter = { q: string; state: WorkflowState | undefined; tag: string | undefined };

/** The newest run of a workflow, as lists of runs have it. */
type Last = { id: string; status: string; error: unknown; created_at_ms: number };

export function WorkflowList({
  q,
  state,
  tag,
  onFilter,
}: Filter & { onFilter: (filter: Filter) => void }) {
  useTitle("Workflows");
  useLiveRuns();
  const navigate = useNavigate();
  const workflows = useInfiniteQuery(workflowsQuery(tag));
  const { data: newest } = useQuery(newestRunsQuery);
  const { data: errors } = useQuery(openErrorsQuery);
  const field = useRef<HTMLInputElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  useShortcuts({ filter: () => field.current?.focus() });
  const columns = useColumns("workflows", COLUMNS);
  const words = q.toLowerCase();
  const all = workflows.data?.pages.flatMap((page) => page.data) ?? [];
  const shown = all.filter(
    ({ name, id, active, note, tags }) =>
      (state === undefined || active === (state === "active")) &&
      (`${name} ${tags.join(" ")} ${note ?? ""}`.toLowerCase().includes(words) ||
        id.toLowerCase() === words),
  );
  const filtered = useFiltered(workflows, words !== "" || state !== undefined, "workflow");
  const { current, index } = useListKeys({
    ids: shown.map(({ id }) => id),
    onOpen: (id) => void navigate({ to: "/workflows/$id/edit", params: { id } }),
  });
  return (
    <>
      <PageHead acts={<NewLink />}>
        <h1>Workflows</h1>
      </PageHead>
      <div className="bar">
        <Search
          ref={field}
          wide
          label="Search names"
          keys="/"
          value={q}
          onChange={(event) => onFilter({ q: event.target.value, state, tag })}
        />
        <Segments
          label="State"
          value={state ?? "all"}
          onChange={(next) => onFilter({ q, state: next === "all" ? undefined : next, tag })}
          choices={[
            ["all", "All"],
            ["active", "Active"],
            ["inactive", "Off"],
          ]}
        />
        {tag !== undefined && (
          <span className="chip">
            <span className="k">Tag</span>
            <span className="v">{tag}</span>
            <button
              type="button"
              className="x"
              aria-label="Clear filter Tag"
              onClick={() => onFilter({ q, state, tag: undefined })}
            >
              <X className="icon is-xs" aria-hidden="true" />
            </button>
          </span>
        )}
        <BarStatus>{workflows.isSuccess && filtered.words(shown.length)}</BarStatus>
        <ColumnsMenu list="workflows" columns={COLUMNS} />
      </div>
      <div className="scroll" ref={scroll}>
        <ListState query={workflows} what="The workflows" rowHeight={ROW_HEIGHT} empty={<None />}>
          {() =>
            shown.length === 0 && filtered.reads ? (
              <SkeletonRows height={ROW_HEIGHT} rows={6} />
            ) : shown.length === 0 ? (
              <Empty title={`None of ${filtered.of} match.`}>
                <Button onClick={() => onFilter({ q: "", state: undefined, tag: undefined })}>
                  Clear filters
                </Button>
              </Empty>
            ) : (
              <table className={cn("tbl t-workflows", columns.className)} aria-label="Workflows">
                <thead>
                  <tr className="tr is-head">
                    <th>Name</th>
                    <th className="c-state">State</th>
                    <th className="c-starts">Starts</th>
                    <th className="c-runs">Runs, 24 h</th>
                    <th className="c-last">Last run</th>
                    <th className="c-errors">Errors</th>
                    <th className="is-right c-changed">Changed</th>
                  </tr>
                </thead>
                <tbody>
                  <VirtualRows
                    count={shown.length}
                    height={ROW_HEIGHT}
                    scroll={scroll}
                    keyOf={(at) => shown[at]?.id ?? String(at)}
                    shown={index}
                  >
                    {(at, row) => {
                      const workflow = shown[at];
                      if (workflow === undefined) return null;
                      return (
                        <tr
                          {...row}
                          className={`tr${workflow.id === current ? " is-current" : ""}`}
                        >
                          <Cells
                            workflow={workflow}
                            last={newest?.find(({ workflow_id }) => workflow_id === workflow.id)}
                            read={newest !== undefined}
                            errors={
                              errors?.isWhole === true
                                ? (errors.counts.get(workflow.id) ?? 0)
                                : undefined
                            }
                            asksErrors={errors?.isWhole === false}
                          />
                        </tr>
                      );
                    }}
                  </VirtualRows>
                </tbody>
              </table>
            )
          }
        </ListState>
      </div>
    </>
  );
}

function Cells({
  workflow,
  last: lately,
  read,
  errors,
  asksErrors,
}: {
  workflow: Workflow;
  last: Last | undefined;
  /** Whether the newest runs were read: it is among them, or ran longer ago. */
  read: boolean;
  /** How many are open; `undefined`: not known. */
  errors: number | undefined;
  /** There are too many in all to be read at once: each row asks for its own. */
  asksErrors: boolean;
}) {
  const { data: before } = useQuery({
    ...lastRunQuery(workflow.id),
    enabled: read && lately === undefined,
  });
  const { data: triggers } = useQuery(liveTriggersQuery(workflow));
  const last = lately ?? before ?? undefined;
  const { data: own } = useQuery({ ...openErrorsOfQuery(workflow.id), enabled: asksErrors });
  return (
    <>
      <td className="row">
        <Tile name={workflow.name} />
        <Link to="/workflows/$id/edit" params={{ id: workflow.id }} className="row-link name cut">
          {workflow.name}
        </Link>
        {workflow.tags.length > 0 && (
          <span className="row above wf-tags only-wide">
            {workflow.tags.slice(0, TAGS_SHOWN).map((tag) => (
              <Link key={tag} to="/workflows" search={{ tag }} className="tag-link">
                <Tag>{tag}</Tag>
              </Link>
            ))}
          </span>
        )}
      </td>
      <td className="cut c-state">
        <StateWord workflow={workflow} />
      </td>
      <td className="mid cut c-starts">
        {triggers !== undefined && <Starts of={startsOf(triggers, () => "a source")} />}
      </td>
      <td className="c-runs">
        <RunsOfDay stats={workflow.stats} name={workflow.name} />
      </td>
      <td className="cut above c-last">
        {last === undefined ? <NoRun read={read} /> : <LastRun last={last} />}
      </td>
      <td className="cut above c-errors">
        <Errors of={workflow.id} n={errors ?? own} />
      </td>
      <td className="dim is-right above c-changed">
        <When at={workflow.updated_at * 1_000} />
      </td>
    </>
  );
}

function Errors({ of, n }: { of: string; n: number | undefined }) {
  if (n === undefined) return null;
  if (n === 0) return <span className="dim">none</span>;
  return (
    <Link to="/errors" search={{ owner: of }} className="quiet-link failed-text">
      {plural(n, "error")}
    </Link>
  );
}

export function StateWord({ workflow }: { workflow: Pick<Workflow, "active" | "deployment_id"> }) {
  const [shape, word] =
    workflow.deployment_id === null
      ? (["waiting", "Not deployed"] as const)
      : workflow.active
        ? (["succeeded", "Active"] as const)
        : (["cancelled", "Off"] as const);
  return (
    <span className="status">
      <Glyph status={shape} />
      {word}
    </span>
  );
}

function NoRun({ read }: { read: boolean }) {
  return <span className="dim">{read ? "never" : ""}</span>;
}

function LastRun({ last }: { last: Last }) {
  const status = statusOf(last.status);
  const code = isObject(last.error) ? textOf(last.error.code) : undefined;
  return (
    <Link to="/runs/$id" params={{ id: last.id }} className="status quiet-link">
      <Glyph status={status} />
      <span className="cut">
        {code ?? status}{" "}
        <span className="dim">
          <When at={last.created_at_ms} />
        </span>
      </span>
    </Link>
  );
}

function NewLink() {
  return (
    <ActLink to="/workflows/new" needs="deploy" look="primary" icon={Plus}>
      New workflow
    </ActLink>
  );
}

function None() {
  return (
    <Empty title="No workflows yet.">
      <p>
        A workflow runs steps (your code or published actions) for each request, timer tick or
        event.
      </p>
      <NewLink />
    </Empty>
  );
}
