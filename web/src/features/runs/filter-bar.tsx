/** Filters of a list of runs, each a chip whose value is a menu. */

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { Fragment, type ReactNode, useState } from "react";
import { ownersQuery } from "~/api/queries";
import type { Status } from "~/api/status";
import { dateAndMinute, shortId } from "~/ui/format";
import { Menu, MenuItem, MenuLine, MenuTick } from "~/ui/menu";
import { Glyph, statusWord } from "~/ui/status";
import { AskBetween, AskError, AskOwner } from "./filter-dialogs";
import {
  AGES,
  type Between,
  FILTER_NAMES,
  type FilterName,
  KINDS,
  type RunFilter,
  TOOK,
} from "./run-filter";

const STATUSES: readonly Status[] = [
  "failed",
  "paused",
  "running",
  "queued",
  "succeeded",
  "cancelled",
];

const words: Record<FilterName, string> = {
  status: "Status",
  owner: "Workflow or source",
  age: "Time",
  between: "Date range",
  kind: "Kind",
  took: "Duration",
  error: "Error",
  trace: "From one event",
};

/** What a filter has when it is added; those that have to be chosen first are absent. */
const first: RunFilter = { status: ["failed"], age: "day", kind: "live", took: "ten" };

type Props = {
  filter: RunFilter;
  onFilter: (filter: RunFilter) => void;
};

/** Filters whose value is asked for in a dialog. */
type Asked = "owner" | "between" | "error";

const isAsked = (name: FilterName): name is Asked =>
  name === "owner" || name === "between" || name === "error";

/** `ofOne`: the list is of one workflow or source already. */
export function FilterBar({ filter, onFilter, ofOne = false }: Props & { ofOne?: boolean }) {
  const [asks, setAsks] = useState<Asked>();
  // A trace is chosen at a run, and never by its id.
  const absent = FILTER_NAMES.filter(
    (name) => name !== "trace" && filter[name] === undefined && !(ofOne && name === "owner"),
  );
  const give = (given: RunFilter) => {
    setAsks(undefined);
    onFilter(given);
  };
  const { age: _, ...withoutAge } = filter;
  return (
    <>
      {FILTER_NAMES.filter((name) => filter[name] !== undefined).map((name) => (
        <Chip
          key={name}
          name={words[name]}
          onRemove={() => {
            const { [name]: _, ...others } = filter;
            onFilter(others);
          }}
        >
          <Value name={name} filter={filter} onFilter={onFilter} onAsk={setAsks} />
        </Chip>
      ))}
      {absent.length > 0 && (
        <Menu
          label="Add a filter"
          align="start"
          trigger={
            <button type="button" className="chip-add">
              <Plus className="icon is-xs" aria-hidden="true" />
              Filter
            </button>
          }
        >
          {absent.map((name) => (
            <MenuItem
              key={name}
              onSelect={() => {
                if (isAsked(name)) setAsks(name);
                else onFilter(withAge({ ...filter, [name]: first[name] }, name));
              }}
            >
              {words[name]}
            </MenuItem>
          ))}
        </Menu>
      )}
      {asks === "error" && (
        <AskError
          had={filter.error ?? ""}
          onClose={() => setAsks(undefined)}
          onGiven={(error) => give({ ...filter, error })}
        />
      )}
      {asks === "owner" && (
        <AskOwner
          had={filter.owner}
          onClose={() => setAsks(undefined)}
          onGiven={(owner) => give({ ...filter, owner })}
        />
      )}
      {asks === "between" && (
        <AskBetween
          had={filter.between}
          onClose={() => setAsks(undefined)}
          onGiven={(between) => give({ ...withoutAge, between })}
        />
      )}
    </>
  );
}

/** How far back goes in the place of two times. */
function withAge(filter: RunFilter, added: FilterName): RunFilter {
  if (added !== "age") return filter;
  const { between: _, ...others } = filter;
  return others;
}

/** "25 Nov 2026, 09:00 to 25 Nov 2026, 10:30". */
function betweenWords({ from, to }: Between): string {
  if (from === undefined) return to === undefined ? "" : `before ${dateAndMinute(to)}`;
  return to === undefined
    ? `from ${dateAndMinute(from)}`
    : `${dateAndMinute(from)} to ${dateAndMinute(to)}`;
}

function Chip({
  name,
  onRemove,
  children,
}: {
  name: string;
  onRemove: () => void;
  children: ReactNode;
}) {
  return (
    <span className="chip">
      <span className="k">{name}</span>
      {children}
      <button type="button" className="x" aria-label={`Clear filter ${name}`} onClick={onRemove}>
        <X className="icon is-xs" aria-hidden="true" />
      </button>
    </span>
  );
}

function Value({
  name,
  filter,
  onFilter,
  onAsk,
}: Props & { name: FilterName; onAsk: (name: Asked) => void }) {
  const { data: owners } = useQuery(ownersQuery);
  const trigger = (label: string, shown: ReactNode) => (
    <button type="button" className="v" aria-label={`${words[name]}: ${label}`}>
      {shown}
    </button>
  );
  const asking = (asked: Asked, shown: string, mono = false) => (
    <button
      type="button"
      className={mono ? "v mono cut" : "v cut"}
      aria-label={`${words[asked]}: ${shown}`}
      onClick={() => onAsk(asked)}
    >
      {shown}
    </button>
  );
  const ticks = <K extends string>(
    all: readonly (readonly [K, ReactNode])[],
    chosen: K | undefined,
    onChoose: (key: K) => void,
  ) =>
    all.map(([key, label]) => (
      <MenuItem key={key} onSelect={() => onChoose(key)}>
        <span className="option-tick" aria-hidden="true">
          {key === chosen ? "✓" : ""}
        </span>
        {label}
      </MenuItem>
    ));
  switch (name) {
    case "status": {
      const chosen = filter.status ?? [];
      return (
        <Menu
          label="Status"
          align="start"
          trigger={trigger(
            chosen.join(", "),
            chosen.map((each, index) => (
              <Fragment key={each}>
                {/* Voice control names the words on the button: they must not run into one. */}
                {index > 0 && " "}
                <span className="row chip-status">
                  <Glyph status={each} />
                  {each}
                </span>
              </Fragment>
            )),
          )}
        >
          {STATUSES.map((each) => (
            <MenuTick
              key={each}
              checked={chosen.includes(each)}
              onChange={(on) => {
                const next = STATUSES.filter((one) => (one === each ? on : chosen.includes(one)));
                if (next.length > 0) onFilter({ ...filter, status: next });
              }}
            >
              <Glyph status={each} />
              {statusWord[each]}
            </MenuTick>
          ))}
        </Menu>
      );
    }
    case "owner": {
      const owner = owners?.get(filter.owner ?? "")?.name ?? filter.owner ?? "";
      return asking("owner", owner);
    }
    case "between":
      return asking("between", betweenWords(filter.between ?? {}));
    case "age": {
      const { age = "day" } = filter;
      return (
        <Menu label="Time" align="start" trigger={trigger(AGES[age].says, AGES[age].says)}>
          {ticks(
            [
              ["hour", AGES.hour.says],
              ["day", AGES.day.says],
              ["week", AGES.week.says],
              ["month", AGES.month.says],
            ],
            age,
            (chosen) => onFilter({ ...filter, age: chosen }),
          )}
          <MenuLine />
          <MenuItem onSelect={() => onAsk("between")}>Date range…</MenuItem>
        </Menu>
      );
    }
    case "kind": {
      const { kind = "live" } = filter;
      return (
        <Menu label="Kind" align="start" trigger={trigger(KINDS[kind], KINDS[kind])}>
          {ticks(
            [
              ["live", KINDS.live],
              ["test", KINDS.test],
              ["hook", KINDS.hook],
            ],
            kind,
            (chosen) => onFilter({ ...filter, kind: chosen }),
          )}
        </Menu>
      );
    }
    case "took": {
      const { took = "ten" } = filter;
      return (
        <Menu label="Duration" align="start" trigger={trigger(TOOK[took].says, TOOK[took].says)}>
          {ticks(
            [
              ["second", TOOK.second.says],
              ["ten", TOOK.ten.says],
              ["minute", TOOK.minute.says],
            ],
            took,
            (chosen) => onFilter({ ...filter, took: chosen }),
          )}
        </Menu>
      );
    }
    case "trace":
      return <span className="v mono">{shortId(filter.trace ?? "")}</span>;
    case "error":
      return asking("error", filter.error ?? "", true);
  }
}

/** A filter in words, as its chip says it. */
export function filterInWords(
  name: FilterName,
  filter: RunFilter,
  owners: ReadonlyMap<string, { name: string }> | undefined,
): string {
  switch (name) {
    case "status":
      return (filter.status ?? []).join(", ");
    case "owner":
      return owners?.get(filter.owner ?? "")?.name ?? filter.owner ?? "";
    case "age":
      return filter.age === undefined ? "" : AGES[filter.age].says;
    case "between":
      return betweenWords(filter.between ?? {});
    case "kind":
      return filter.kind === undefined ? "" : KINDS[filter.kind];
    case "took":
      return filter.took === undefined ? "" : TOOK[filter.took].says;
    case "error":
      return filter.error ?? "";
    case "trace":
      return "from one event";
  }
}
