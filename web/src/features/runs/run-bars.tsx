/** Bars above a list of runs: views, how many are shown, words, filters, saved views and columns. */

import { useRef, useState } from "react";
import { ColumnsMenu } from "~/shell/columns";
import { SavedViews } from "~/shell/saved-views";
import { useShortcuts } from "~/shell/shortcuts";
import { Search } from "~/ui/field";
import { BarStatus, Segments } from "~/ui/pane";
import { FilterBar } from "./filter-bar";
import type { RunFilter, RunList, RunSearch } from "./run-filter";
import { searchOf } from "./run-filter";
import { RUN_COLUMNS } from "./run-table";
import { type Selecting, SelectRuns } from "./select-runs";
import { VIEW_NAMES, VIEWS } from "./views";

export type Listed = RunList & {
  onShow: (next: Partial<RunList>) => void;
  /** Opens a view that was saved: an address. */
  onOpen: (search: Readonly<Record<string, string>>) => void;
};

export function RunBars({
  listed,
  showing,
  selecting,
  ofOne = false,
}: {
  listed: Listed;
  selecting: Selecting;
  /** How many are shown, of how many. */
  showing: string;
  /** They are all of one workflow or source. */
  ofOne?: boolean;
}) {
  const { view, q, filter, onShow, onOpen } = listed;
  const filtered = isFiltered(filter);
  return (
    <>
      <div className="bar">
        <Segments
          label="Views"
          value={view}
          onChange={(next) => onShow({ view: next })}
          choices={VIEW_NAMES.map((each) => [each, VIEWS[each].name] as const)}
        />
        <BarStatus>{showing}</BarStatus>
        <SelectRuns selecting={selecting} />
      </div>
      <div className="bar is-filters">
        <SearchRuns q={q} onSearch={(next) => onShow({ q: next })} />
        <FilterBar filter={filter} ofOne={ofOne} onFilter={(next) => onShow({ filter: next })} />
        {filtered && (
          <button type="button" className="link end" onClick={() => onShow({ filter: {} })}>
            Clear filters
          </button>
        )}
        <span className={filtered ? "row" : "row end"}>
          <SavedViews
            list={ofOne ? "runs-of-one" : "runs"}
            search={textsOf(searchOf({ view, q, filter }))}
            onOpen={onOpen}
          />
          <ColumnsMenu list="runs" columns={RUN_COLUMNS} />
        </span>
      </div>
    </>
  );
}

export const isFiltered = (filter: RunFilter): boolean => Object.keys(filter).length > 0;

/** "that failed or are paused, filtered, with “order”". */
export function saysOf({ view, q, filter }: RunList, ofAll: string = VIEWS.all.says): string {
  const which = view === "all" ? ofAll : VIEWS[view].says;
  const matching = isFiltered(filter) ? `${which}, filtered` : which;
  return q === "" ? matching : `${matching}, with “${q}”`;
}

const textsOf = (search: RunSearch): Record<string, string> => ({ ...search });

/** Words are sent with the return key: each search is a request. */
function SearchRuns({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const [text, setText] = useState(q);
  // The address may name other words, as after Back or a saved view; the field keeps the focus.
  const [shown, setShown] = useState(q);
  if (shown !== q) {
    setShown(q);
    setText(q);
  }
  const field = useRef<HTMLInputElement>(null);
  useShortcuts({ filter: () => field.current?.focus() });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim());
        // The keys of the list are next.
        field.current?.blur();
      }}
    >
      <Search
        ref={field}
        label="Search events, results, errors"
        keys="/"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "") {
            onSearch("");
          }
        }}
      />
    </form>
  );
}
