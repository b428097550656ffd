/** JSON inspector: a virtual tree with search, and the text. */

import "./json.css";
import { type ReactNode, useRef, useState } from "react";
import { exactText } from "~/json/exact";
import { Search } from "../field";
import { Segments } from "../pane";
import { Lines } from "./lines";
import { Tree } from "./tree";
import { useSearch } from "./use-search";

type Props = {
  value: unknown;
  /** What paths begin with, such as `steps.trigger.event`. */
  base?: string;
  label: string;
  /** Acts beside the search. */
  acts?: ReactNode;
  /** Called with the path on enter, where a field waits for one. */
  onPick?: ((path: string) => void) | undefined;
  /** Name of that field, where there is one. */
  pickInto?: string | undefined;
};

/** Mount it with a `key` of what is shown, so that nothing of the last value remains. */
export function JsonInspector({ value, base = "", label, acts, onPick, pickInto }: Props) {
  const [mode, setMode] = useState<"tree" | "text">("tree");
  const [words, setWords] = useState("");
  const search = useSearch(value, words);
  const field = useRef<HTMLInputElement>(null);
  return (
    <div className="json">
      <div className="json-bar">
        <Search
          ref={field}
          label="Search names and values"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") search.step(event.shiftKey ? -1 : 1);
            if (event.key === "Escape" && words !== "") {
              event.stopPropagation();
              setWords("");
            }
          }}
          end={
            words !== "" && (
              <span className="num small nowrap" role="status">
                {search.hits.length === 0
                  ? search.done
                    ? "none"
                    : "…"
                  : `${search.at + 1} of ${search.hits.length}${search.done ? "" : "…"}`}
              </span>
            )
          }
        />
        <Segments
          label="Shown as"
          value={mode}
          onChange={setMode}
          choices={[
            ["tree", "Tree"],
            ["text", "Text"],
          ]}
        />
        {acts}
      </div>
      {mode === "tree" ? (
        <Tree
          value={value}
          base={base}
          label={label}
          hit={search.hits[search.at]}
          words={words}
          onStep={search.step}
          onSearch={() => field.current?.focus()}
          onPick={onPick}
          pickInto={pickInto}
        />
      ) : (
        <Lines text={exactText(value, 2) ?? "undefined"} label={label} words={words} />
      )}
    </div>
  );
}
