/** Filters of a list of runs, each a chip whose value is a menu. */

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { Fragment, type ReactNode, useRef, useState } from "react";
import { ownersQuery } from "~/api/queries";
import type { Status } from "~/api/status";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { shortId } from "~/ui/format";
import { Menu, MenuItem, MenuTick } from "~/ui/menu";
import { Glyph, statusWord } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { AGES, FILTER_NAMES, type FilterName, KINDS, type RunFilter, TOOK } from "./run-filter";

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
  kind: "Kind",
  took: "Took",
  error: "Error",
  trace: "From one event",
};

/** What a filter has when it is added; those that have to be chosen first are absent. */
const first: RunFilter = { status: ["failed"], age: "day", kind: "live", took: "ten" };

type Props = {
  filter: RunFilter;
  onFilter: (filter: RunFilter) => void;
};

export function FilterBar({ filter, onFilter }: Props) {
  const [asks, setAsks] = useState(false);
  // A trace is chosen at a run, and never by its id.
  const absent = FILTER_NAMES.filter((name) => name !== "trace" && filter[name] === undefined);
  const { data: owners } = useQuery(ownersQuery);
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
          <Value name={name} filter={filter} onFilter={onFilter} onError={() => setAsks(true)} />
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
              disabled={name === "owner" && (owners === undefined || owners.size === 0)}
              onSelect={() => {
                if (name === "error") setAsks(true);
                else if (name === "owner") {
                  const [owner] = owners?.keys() ?? [];
                  if (owner !== undefined) onFilter({ ...filter, owner });
                } else onFilter({ ...filter, [name]: first[name] });
              }}
            >
              {words[name]}
            </MenuItem>
          ))}
        </Menu>
      )}
      {asks && (
        <AskError
          had={filter.error ?? ""}
          onClose={() => setAsks(false)}
          onGiven={(error) => {
            setAsks(false);
            onFilter({ ...filter, error });
          }}
        />
      )}
    </>
  );
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
      <button
        type="button"
        className="x"
        aria-label={`Remove the filter ${name}`}
        onClick={onRemove}
      >
        <X className="icon is-xs" aria-hidden="true" />
      </button>
    </span>
  );
}

function Value({
  name,
  filter,
  onFilter,
  onError,
}: Props & { name: FilterName; onError: () => void }) {
  const { data: owners } = useQuery(ownersQuery);
  const trigger = (label: string, shown: ReactNode) => (
    <button type="button" className="v" aria-label={`${words[name]}: ${label}`}>
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
      return (
        <Menu
          label="Workflow or source"
          align="start"
          trigger={trigger(owner, <span className="cut">{owner}</span>)}
        >
          {ticks(
            [...(owners?.values() ?? [])].map(
              (each) =>
                [
                  each.id,
                  <span key={each.id} className="row">
                    <Tile name={each.name} size="xs" />
                    {each.name}
                  </span>,
                ] as const,
            ),
            filter.owner,
            (chosen) => onFilter({ ...filter, owner: chosen }),
          )}
        </Menu>
      );
    }
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
        <Menu label="Took" align="start" trigger={trigger(TOOK[took].says, TOOK[took].says)}>
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
      return (
        <button
          type="button"
          className="v mono"
          aria-label={`Error: ${filter.error ?? ""}`}
          onClick={onError}
        >
          {filter.error}
        </button>
      );
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

function AskError({
  had,
  onClose,
  onGiven,
}: {
  had: string;
  onClose: () => void;
  onGiven: (error: string) => void;
}) {
  const [text, setText] = useState(had);
  const field = useRef<HTMLInputElement>(null);
  const give = () => {
    if (text.trim() !== "") onGiven(text.trim());
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Runs that failed with"
      typed={false}
      initialFocus={field}
      onSubmit={give}
      foot={
        <>
          <Button onClick={onClose} keys="escape">
            Close
          </Button>
          <Button
            look="primary"
            refused={text.trim() === "" ? "Write the class of the error first." : undefined}
            onClick={give}
          >
            Filter
          </Button>
        </>
      }
    >
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          give();
        }}
      >
        <Field
          label="Class of the error"
          optional={false}
          hint="As the list shows it, such as TypeError"
        >
          {(control) => (
            <Input
              {...control}
              ref={field}
              mono
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
