/** Adding a step: code of one's own, or an action that is published or of a registry. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronRight, Code2 } from "lucide-react";
import { useDeferredValue, useRef, useState } from "react";
import { sentence } from "~/api/errors";
import type { JsonObject } from "~/api/json";
import { Banner } from "~/ui/banner";
import { Dialog } from "~/ui/dialog";
import { Search } from "~/ui/field";
import { Tile } from "~/ui/tag";
import { FIRST_CODE, type StepDraft } from "./model";
import { actionsQuery } from "./queries";

export function AddStep({
  onClose,
  onAdd,
}: {
  onClose: () => void;
  onAdd: (step: { runs: StepDraft["runs"]; props: JsonObject }, wish: string) => void;
}) {
  const [words, setWords] = useState("");
  const query = useDeferredValue(words.trim());
  const field = useRef<HTMLInputElement>(null);
  const { data: found, error } = useQuery({
    ...actionsQuery(query),
    enabled: query !== "",
    placeholderData: keepPreviousData,
  });
  const actions = query === "" ? [] : (found ?? []);
  const addAction = (key: string) =>
    onAdd({ runs: { kind: "action", component: key }, props: {} }, key.replaceAll("-", "_"));
  return (
    <Dialog open onClose={onClose} title="Add a step" size="middle" initialFocus={field}>
      <div className="dialog-body">
        <Search
          ref={field}
          wide
          className="add-search"
          label="Search actions: words or a key"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => {
            const [first] = actions;
            if (event.key !== "Enter" || first === undefined) return;
            event.preventDefault();
            addAction(first.key);
          }}
        />
        {error !== null && (
          <Banner kind="failed" role="alert" title="The actions could not be searched">
            {sentence(error)}
          </Banner>
        )}
        <ul className="add-list">
          <li>
            <button
              type="button"
              onClick={() => onAdd({ runs: { kind: "code", code: FIRST_CODE }, props: {} }, "code")}
            >
              <Code2 className="icon" aria-hidden="true" />
              <span className="cut">
                <span className="name">Code</span>
                <br />
                <span className="small mid">JavaScript or TypeScript of your own</span>
              </span>
              <ChevronRight className="icon" aria-hidden="true" />
            </button>
          </li>
          {actions.map(({ key, name, description }) => (
            <li key={key}>
              <button type="button" onClick={() => addAction(key)}>
                <Tile name={name === "" ? key : name} />
                <span className="cut">
                  <span className="name">{name === "" ? key : name}</span>{" "}
                  <span className="mono dim small">{key}</span>
                  <br />
                  <span className="small mid">
                    {description.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")}
                  </span>
                </span>
                <ChevronRight className="icon" aria-hidden="true" />
              </button>
            </li>
          ))}
        </ul>
        <p className="small dim" role="status">
          {query === ""
            ? "Actions are those that you published and those of your registries. Outside of fields, Ctrl+V or ⌘V adds a step of a curl line or of YAML."
            : found === undefined
              ? "Searching…"
              : found.length === 0
                ? "No action has all of these words."
                : `${found.length} found`}
        </p>
      </div>
    </Dialog>
  );
}
