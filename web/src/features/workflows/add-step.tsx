/** Adding a step: code of one's own, or an action that is published or of a registry. */

import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { ChevronRight, Code2, Download } from "lucide-react";
import { useDeferredValue, useRef, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { JsonObject } from "~/api/json";
import { bestWords } from "~/shell/best-of";
import { useEnterFirst } from "~/shell/enter-first";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Search } from "~/ui/field";
import { plainText } from "~/ui/plain-markdown";
import { Tile } from "~/ui/tag";
import { FIRST_CODE, type StepDraft } from "./model";
import { actionsQuery, FOUND_MOST, ownActionsQuery } from "./queries";

export function AddStep({
  first = "",
  onClose,
  onAdd,
}: {
  /** What was pasted: an address or a key. */
  first?: string | undefined;
  onClose: () => void;
  onAdd: (step: { runs: StepDraft["runs"]; props: JsonObject }, wish: string) => void;
}) {
  const [words, setWords] = useState(first);
  const address = addressOf(words);
  const query = useDeferredValue(address === undefined ? words.trim() : "");
  const field = useRef<HTMLInputElement>(null);
  const {
    data: found,
    error,
    isPlaceholderData,
  } = useQuery({
    ...actionsQuery(query),
    enabled: query !== "",
    placeholderData: keepPreviousData,
  });
  const { data: own = [] } = useQuery(ownActionsQuery);
  const actions = address !== undefined ? [] : query === "" ? own : (found ?? []);
  const addAction = (key: string) =>
    onAdd({ runs: { kind: "action", component: key }, props: {} }, key.replaceAll("-", "_"));
  const isAnswered = query === words.trim() && found !== undefined && !isPlaceholderData;
  const enter = useEnterFirst(
    words.trim(),
    error !== null ? [] : isAnswered ? found : undefined,
    ({ key }) => addAction(key),
  );
  const ownCode = (
    <li>
      <button
        type="button"
        onClick={() => onAdd({ runs: { kind: "code", code: FIRST_CODE }, props: {} }, "code")}
      >
        <Code2 className="icon" aria-hidden="true" />
        <span className="cut">
          <span className="name">Code</span>
          <br />
          <span className="small mid">Your own JavaScript or TypeScript</span>
        </span>
        <ChevronRight className="icon" aria-hidden="true" />
      </button>
    </li>
  );
  return (
    <Dialog open onClose={onClose} title="Add a step" size="middle" initialFocus={field}>
      <div className="dialog-body">
        <Search
          ref={field}
          wide
          className="add-search"
          label="Search actions, or paste a key or a URL"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => {
            const asks = address === undefined && words.trim() !== "";
            if (event.key !== "Enter" || event.nativeEvent.isComposing || !asks) return;
            event.preventDefault();
            enter();
          }}
        />
        {error !== null && (
          <Banner kind="failed" role="alert" title="The actions could not be searched">
            {sentence(error)}
          </Banner>
        )}
        {address !== undefined && <AtAddress url={address} onAdd={onAdd} />}
        <ul className="add-list">
          {query === "" && ownCode}
          {actions.map(({ key, name, description }) => (
            <li key={key}>
              <button type="button" onClick={() => addAction(key)}>
                <Tile name={key} />
                <span className="cut">
                  <span className="name">{name === "" ? key : name}</span>{" "}
                  <span className="mono dim small">{key}</span>
                  <br />
                  <span className="small mid">{plainText(description)}</span>
                </span>
                <ChevronRight className="icon" aria-hidden="true" />
              </button>
            </li>
          ))}
          {query !== "" && ownCode}
        </ul>
        <p className="small dim" role="status">
          {address !== undefined
            ? "The server downloads the code and reads its props. Nothing runs until you test or deploy it."
            : query === ""
              ? "Lists your published actions and those of your registries. Outside fields, Ctrl+V or ⌘V adds a step from a curl command, YAML, or the URL of a component."
              : found === undefined
                ? "Searching…"
                : found.length === 0
                  ? "No action matches all of these words."
                  : found.length >= FOUND_MOST
                    ? bestWords(FOUND_MOST)
                    : `${found.length} found`}
        </p>
      </div>
    </Dialog>
  );
}

/** An address of code, and no page of words. */
function addressOf(text: string): string | undefined {
  const trimmed = text.trim();
  return /^https?:\/\/\S+$/.test(trimmed) && URL.canParse(trimmed) ? trimmed : undefined;
}

/** Code at a URL is read by a button: whoever gave the address chose the code. */
function AtAddress({
  url,
  onAdd,
}: {
  url: string;
  onAdd: (step: { runs: StepDraft["runs"]; props: JsonObject }, wish: string) => void;
}) {
  const read = useMutation({
    mutationFn: () => data(client.POST("/v1/components", { body: { component_url: url } })),
    onSuccess: ({ id, key, name, type }) => {
      if (type !== "action") return;
      const wish = (key ?? name ?? "action").replaceAll(/[^A-Za-z0-9_]+/g, "_");
      onAdd({ runs: { kind: "action", component: id }, props: {} }, wish);
    },
  });
  const other = read.data !== undefined && read.data.type !== "action" ? read.data.type : undefined;
  return (
    <div className="add-address">
      <p className="mono small wrap mid">{url}</p>
      {other !== undefined && (
        <Banner kind="waits" role="alert" title={`This is a ${other}, not an action`}>
          Steps are actions. Deploy a source under Sources, and use it as a trigger.
        </Banner>
      )}
      {read.error !== null && (
        <Banner kind="failed" role="alert" title="The code could not be loaded">
          {sentence(read.error)}
        </Banner>
      )}
      <div>
        <Button
          look="primary"
          icon={Download}
          busy={read.isPending && "Loading…"}
          onClick={() => read.mutate()}
        >
          Load the code
        </Button>
      </div>
    </div>
  );
}
