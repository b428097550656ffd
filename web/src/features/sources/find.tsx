/**
 * Search for a source to deploy: by words, by a key, an address or code that is pasted, or one of
 * the examples.
 */

import "./find.css";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronRight, Lock } from "lucide-react";
import { useDeferredValue } from "react";
import { client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import { BestOf } from "~/shell/best-of";
import { useEnterFirst } from "~/shell/enter-first";
import { useKeptText } from "~/shell/kept-text";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button, PlainButton } from "~/ui/button";
import { cn } from "~/ui/cn";
import { TextArea } from "~/ui/field";
import { plural } from "~/ui/format";
import { plainText } from "~/ui/plain-markdown";
import { Tile } from "~/ui/tag";
import { pastedOf } from "./code";
import { type Example, examples } from "./examples";
import { FOUND_MOST, searchQuery } from "./queries";

/** What was found, by one of its names. */
export type Found = { key: string } | { url: string } | { component: string };

/** `first`: what was typed elsewhere. `onChoose`: takes what is found; without it, the page of its form is gone to. */
export function FindSource({
  first,
  aside = false,
  onChoose,
}: {
  first: string;
  /** It stands in the place of an empty list: the keys are not its own at once. */
  aside?: boolean;
  onChoose?: ((found: Found) => void) | undefined;
}) {
  const navigate = useNavigate();
  const take =
    onChoose ??
    ((found: Found) =>
      void navigate({ to: "/sources", search: { action: "create" as const, ...found } }));
  const refused = useRefusal("deploy");
  const [text, setText] = useKeptText(`find-source.${first}`, first);
  const pasted = pastedOf(text);
  const save = useMutation({
    mutationFn: async (of: string | Example) => {
      const code = typeof of === "string" ? of : await of.read();
      return data(client.POST("/v1/components", { body: { component_code: code } }));
    },
    onSuccess: ({ id }) => take({ component: id }),
  });
  const isBad = save.error instanceof ApiError && [400, 422].includes(save.error.status);
  const ExampleIcon = refused === undefined ? ChevronRight : Lock;

  const words = pasted.kind === "words" ? pasted.words.toLowerCase().split(/\s+/) : undefined;
  const fitting =
    text.trim() === ""
      ? examples
      : examples.filter(({ name, says }) => {
          const all = `${name} ${says}`.toLowerCase();
          return words?.every((word) => all.includes(word)) ?? false;
        });
  const search = useSources(pasted.kind === "words" ? pasted.words : "");
  const enter = useEnterFirst(text, search.answer && firstOf(search.answer, fitting), (first) => {
    if ("key" in first) take({ key: first.key });
    else if (refused === undefined && !save.isPending) save.mutate(first.example);
  });
  return (
    <div className={cn("find", aside && "is-aside")}>
      <div>
        <h2>Where do events come from?</h2>
        <p className="mid">
          Search your registries, or paste a key, a URL of code, or the code itself.
        </p>
      </div>
      <TextArea
        className="find-input is-line"
        aria-label="Search, or paste a key, a URL or code"
        placeholder="new rows, rss-new-item-in-feed, https://…"
        rows={1}
        autoFocus={!aside}
        mono={pasted.kind === "code"}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || pasted.kind === "code") return;
          if (event.nativeEvent.isComposing) return;
          event.preventDefault();
          if (event.repeat) return;
          if (pasted.kind === "url") take({ url: pasted.url });
          else if (pasted.kind === "key") take({ key: pasted.key });
          else if (pasted.words !== "") enter();
        }}
      />
      {save.error !== null && (
        <Banner
          kind="failed"
          role="alert"
          title={isBad ? "This code is not a component" : "The code was not saved"}
        >
          {sentence(save.error)}
        </Banner>
      )}
      {pasted.kind === "code" && (
        <Button
          look="primary"
          size="lg"
          refused={refused}
          busy={save.isPending && "Checking the code…"}
          onClick={() => save.mutate(pasted.code)}
        >
          Check the code
        </Button>
      )}
      {pasted.kind === "url" && (
        <ul className="found">
          <Way
            of={{ url: pasted.url }}
            name="Code at this URL"
            says={pasted.url}
            onChoose={onChoose}
          />
        </ul>
      )}
      {pasted.kind === "key" && (
        <ul className="found">
          <Way
            of={{ key: pasted.key }}
            name={pasted.key}
            says="Component key"
            onChoose={onChoose}
          />
        </ul>
      )}
      {pasted.kind === "words" && pasted.words !== "" && (
        <FoundByWords search={search} onChoose={onChoose} />
      )}
      {fitting.length > 0 && (
        <section aria-labelledby="examples">
          <h3 id="examples" className="small dim">
            Examples that need no account
          </h3>
          <ul className="found">
            {fitting.map((example) => (
              <li key={example.id}>
                <PlainButton
                  stopped={save.isPending}
                  refused={refused}
                  onClick={() => save.mutate(example)}
                >
                  <Tile name={example.name} size="lg" />
                  <span>
                    <span className="name">{example.name}</span>
                    <br />
                    <span className="small mid">{example.says}</span>
                  </span>
                  <span />
                  <ExampleIcon className="icon" aria-hidden="true" />
                </PlainButton>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Way({
  of,
  name,
  says,
  note,
  onChoose,
}: {
  of: Found;
  name: string;
  says: string;
  note?: string;
  onChoose: ((found: Found) => void) | undefined;
}) {
  const shown = (
    <>
      <Tile name={name} size="lg" />
      <span className="cut">
        <span className="name">{name}</span>
        <br />
        <span className="small mid">{says}</span>
      </span>
      <span className="mono dim">{note}</span>
      <ChevronRight className="icon" aria-hidden="true" />
    </>
  );
  return (
    <li>
      {onChoose === undefined ? (
        <Link to="/sources" search={{ action: "create", ...of }}>
          {shown}
        </Link>
      ) : (
        <button type="button" onClick={() => onChoose(of)}>
          {shown}
        </button>
      )}
    </li>
  );
}

/** Sources of the registries by words. `answer`: those of just these words, once they are there. */
function useSources(words: string) {
  const query = useDeferredValue(words);
  const {
    data: found,
    error,
    isPlaceholderData,
  } = useQuery({
    ...searchQuery(query, "source"),
    enabled: query !== "",
    placeholderData: keepPreviousData,
  });
  const isAnswered = query === words && found !== undefined && !isPlaceholderData;
  return {
    query,
    found,
    error,
    // A search that failed found nothing that Enter could take.
    answer: error === null && isAnswered ? found.components : undefined,
  };
}

/** What Enter takes: the first source of the registries, else the first of the examples. */
function firstOf(
  found: readonly { key: string }[],
  fitting: readonly Example[],
): readonly ({ key: string } | { example: Example })[] {
  return found.length > 0 ? found : fitting.map((example) => ({ example }));
}

function FoundByWords({
  search: { query, found, error },
  onChoose,
}: {
  search: ReturnType<typeof useSources>;
  onChoose: ((found: Found) => void) | undefined;
}) {
  const sources = found?.components ?? [];
  const { data: others } = useQuery({
    ...searchQuery(query, "action"),
    enabled: found !== undefined && sources.length === 0,
  });
  const actions = others?.components.length ?? 0;
  if (error !== null) {
    return (
      <Banner kind="failed" role="alert" title="The registries could not be searched">
        {sentence(error)}
      </Banner>
    );
  }
  if (found === undefined) return <p className="dim">Searching…</p>;
  if (sources.length === 0) {
    return (
      <p className="mid" role="status">
        No source in your registries matches all of these words.
        {actions > 0 &&
          ` ${actions < FOUND_MOST ? plural(actions, "action") : `${FOUND_MOST} actions or more`} ${actions === 1 ? "matches, and can be used as a step" : "match, and can be used as steps"} of workflows.`}
      </p>
    );
  }
  return (
    <>
      <p className="sr" role="status">
        {sources.length < FOUND_MOST ? `${sources.length} found` : `${FOUND_MOST} found or more`}
      </p>
      <ul className="found">
        {sources.map(({ key, name, description, version }) => (
          <Way
            key={key}
            of={{ key }}
            name={name === "" ? key : name}
            says={description === "" ? key : plainText(description)}
            note={version}
            onChoose={onChoose}
          />
        ))}
      </ul>
      <BestOf n={sources.length} most={FOUND_MOST} />
    </>
  );
}
