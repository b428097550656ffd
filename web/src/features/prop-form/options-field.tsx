/** Field with options: fixed ones, or those that the component's code returns page by page. */

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Hourglass } from "lucide-react";
import { useDeferredValue, useEffect, useState } from "react";
import { type OptionsPage, readOptions } from "~/api/components";
import { sentence } from "~/api/errors";
import type { JsonObject } from "~/api/json";
import { isObject } from "~/api/json";
import { isRequired, type Option, type PropDef } from "~/api/props";
import { stable } from "~/ui/changes";
import { Combobox, type Item } from "~/ui/combobox";
import { type ControlProps, Message } from "~/ui/field";
import { Select } from "~/ui/select";
import { keepLabel, keptLabel } from "./option-labels";
import { Foot } from "./options-foot";
import { bringsNew, keyOf, optionsIn } from "./options-pages";
import { parentsOf, waitsFor } from "./parents";
import type { PropForm } from "./use-prop-form";

const FEW = 8;
const FRESH_MS = 5 * 60_000;
const REST_MS = 400;

type Props = { form: PropForm; prop: PropDef; control: ControlProps };

function itemOf({ label, value }: Option): Item {
  const key = keyOf(value);
  return { key, label, ...(label === key || key.length > 40 ? {} : { note: <code>{key}</code> }) };
}

/** The value that is stored for an option. */
function stored(prop: PropDef, { label, value }: Option): unknown {
  return prop.withLabel ? { __lv: { label, value } } : value;
}

/** The option that a stored value is, with its label where one is known. */
function optionOf(value: unknown, label: string | undefined, known: readonly Option[]): Option {
  const inner = isObject(value) && isObject(value.__lv) ? value.__lv : value;
  const bare = isObject(inner) && "value" in inner ? inner.value : inner;
  const own = isObject(inner) && typeof inner.label === "string" ? inner.label : undefined;
  const found = known.find((option) => keyOf(option.value) === keyOf(bare));
  return { label: found?.label ?? label ?? own ?? keyOf(bare), value: bare };
}

export function OptionsField(props: Props) {
  return props.prop.asksOptions ? <AskedOptions {...props} /> : <FixedOptions {...props} />;
}

function FixedOptions({ form, prop, control }: Props) {
  const options = prop.options ?? [];
  if (options.length > FEW || prop.type.endsWith("[]")) {
    return <Choices form={form} prop={prop} control={control} options={options} />;
  }
  const draft = form.drafts[prop.name];
  const value = draft?.kind === "value" ? draft.value : undefined;
  const chosen = value === undefined ? null : keyOf(optionOf(value, undefined, options).value);
  return (
    <Select
      {...control}
      value={chosen}
      onClear={isRequired(prop) ? undefined : () => form.choose(prop.name, undefined)}
      onChange={(key) => {
        const option = options.find((each) => keyOf(each.value) === key);
        if (option !== undefined) {
          form.choose(prop.name, {
            kind: "value",
            value: stored(prop, option),
            label: option.label,
          });
        }
      }}
      choices={options.map((option) => ({ value: keyOf(option.value), label: option.label }))}
    />
  );
}

/** The combobox of one or many, over the options that are known so far. */
function Choices({
  form,
  prop,
  control,
  options,
  onOpen,
  onClose,
  onSearch,
  foot,
  none,
}: Props & {
  options: readonly Option[];
  onOpen?: () => void;
  onClose?: () => void;
  onSearch?: (text: string) => void;
  foot?: React.ReactNode;
  none?: React.ReactNode;
}) {
  const [own, setOwn] = useState<string | null>(null);
  const draft = form.drafts[prop.name];
  const value = draft?.kind === "value" ? draft.value : undefined;
  const label = draft?.kind === "value" ? draft.label : undefined;
  const parent = form.outdatedBy(prop.name);
  const byKey = new Map(options.map((option) => [keyOf(option.value), option]));
  const optionFor = (item: Item): Option => {
    const option = byKey.get(item.key) ?? optionOf(valueOfText(prop, item.key), item.label, []);
    keepLabel(form, prop, option);
    return option;
  };
  const itemFor = (stored: unknown, chosen?: string): Item => {
    const bare = optionOf(stored, undefined, []);
    const kept = chosen ?? keptLabel(form, prop, bare.value);
    return itemOf(optionOf(stored, kept, options));
  };
  const shared = {
    ...control,
    items: options.map(itemOf),
    ...(onOpen === undefined ? {} : { onOpen }),
    ...(onClose === undefined ? {} : { onClose }),
    ...(onSearch === undefined ? {} : { onSearch }),
    placeholder: "Choose",
    ...(foot === undefined ? {} : { foot }),
    ...(none === undefined ? {} : { none }),
  };
  if (own !== null) {
    return (
      <OwnValue
        control={control}
        text={own}
        onText={(text) => {
          setOwn(text);
          form.set(
            prop.name,
            text === "" ? undefined : { kind: "value", value: valueOfText(prop, text) },
          );
        }}
        onBack={() => {
          setOwn(null);
          form.commit(prop.name);
        }}
      />
    );
  }
  const known = Array.isArray(value)
    ? value.every((each) => byKey.has(keyOf(optionOf(each, undefined, []).value)))
    : byKey.has(keyOf(optionOf(value, undefined, []).value));
  const outdated = parent !== undefined && value !== undefined && !known && (
    <Message hint={`Chosen before ${parent} was changed: it may no longer be an option.`} />
  );
  const enter = (
    <Message
      hint={
        <button
          type="button"
          className="link"
          onClick={() => setOwn(value === undefined ? "" : keyOf(value))}
        >
          Enter a value instead
        </button>
      }
    />
  );
  if (prop.type.endsWith("[]")) {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
    return (
      <>
        <Combobox
          {...shared}
          multiple
          value={values.map((each) => itemFor(each))}
          onChange={(items) => {
            const next = items.map((item) => stored(prop, optionFor(item)));
            form.choose(prop.name, next.length === 0 ? undefined : { kind: "value", value: next });
          }}
        />
        {outdated}
      </>
    );
  }
  return (
    <>
      <Combobox
        {...shared}
        value={value === undefined ? null : itemFor(value, label)}
        onChange={(item) => {
          if (item === null) return form.choose(prop.name, undefined);
          const option = optionFor(item);
          form.choose(prop.name, {
            kind: "value",
            value: stored(prop, option),
            label: option.label,
          });
        }}
      />
      {outdated}
      {prop.asksOptions && enter}
    </>
  );
}

/** A typed value of the prop's type. */
function valueOfText(prop: PropDef, text: string): unknown {
  return prop.type.startsWith("integer") && /^-?\d+$/.test(text) ? Number(text) : text;
}

function OwnValue({
  control,
  text,
  onText,
  onBack,
}: {
  control: ControlProps;
  text: string;
  onText: (text: string) => void;
  onBack: () => void;
}) {
  return (
    <>
      <input
        {...control}
        className="input is-mono"
        autoComplete="off"
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      <Message
        hint={
          <button type="button" className="link" onClick={onBack}>
            Choose from the list instead
          </button>
        }
      />
    </>
  );
}

function AskedOptions(props: Props) {
  const { form, prop, control } = props;
  const hasValue = (name: string) => form.values[name] !== undefined || form.sealed.includes(name);
  const waits = waitsFor(form.props, prop, hasValue)?.label;
  const [opened, setOpened] = useState(false);
  const [typed, setTyped] = useState("");
  const query = useDeferredValue(prop.searches ? typed.trim() : "");
  const [isOpen, setOpen] = useState(false);
  const others = useOthers(form, prop, isOpen);
  const queries = useQueryClient();
  const queryKey = ["options", form.target, prop.name, others, query];
  const [stopped, setStopped] = useState(false);
  const asked = useInfiniteQuery({
    queryKey,
    enabled: opened && waits === undefined,
    staleTime: FRESH_MS,
    gcTime: FRESH_MS,
    retry: false,
    refetchOnWindowFocus: false,
    initialPageParam: { page: 0, context: undefined },
    queryFn: ({ pageParam, signal }: { pageParam: Param; signal: AbortSignal }) =>
      readOptions(
        {
          target: form.target,
          prop: prop.name,
          values: others,
          page: pageParam.page,
          context: pageParam.context,
          query: query === "" ? undefined : query,
          form: form.formId(),
        },
        signal,
      ),
    getNextPageParam: (last: OptionsPage, pages: OptionsPage[]): Param | undefined =>
      // A page without new options is the end, also where the code goes on giving a context.
      bringsNew(pages) ? { page: pages.length, context: last.context } : undefined,
  });
  if (waits !== undefined) {
    return (
      <div className="input is-waiting">
        <Hourglass className="icon is-sm" aria-hidden="true" />
        Waiting for {waits}
      </div>
    );
  }
  const pages = asked.data?.pages ?? [];
  const options = optionsIn(pages);
  const state = {
    shown: options.length,
    at: pages.at(-1)?.at,
    more: asked.hasNextPage && options.length > 0,
    pending: asked.isFetching,
    problem: asked.error === null ? undefined : sentence(asked.error),
  };
  return (
    <Choices
      {...props}
      control={control}
      options={options}
      onOpen={() => {
        setOpen(true);
        setOpened(true);
        setStopped(false);
      }}
      onClose={() => setOpen(false)}
      {...(prop.searches ? { onSearch: setTyped } : {})}
      none={
        asked.isFetching || stopped || state.problem !== undefined ? null : (
          <NoneOf form={form} prop={prop} isSearched={query !== ""} />
        )
      }
      foot={
        <Foot
          {...state}
          onMore={() => void asked.fetchNextPage()}
          stopped={stopped}
          onAgain={() => {
            setStopped(false);
            void asked.refetch();
          }}
          onStop={() => {
            // What is not asked for any more is not asked for again by itself.
            setOpened(false);
            setStopped(true);
            void queries.cancelQueries({ queryKey, exact: true });
          }}
        />
      }
    />
  );
}

/**
 * Values of the other props that a question for options has: those of now while the list is open.
 * What is typed elsewhere while it is closed asks for nothing, unless the prop depends on it: then
 * once the typing rests, as each question runs the component's code.
 */
function useOthers(form: PropForm, prop: PropDef, isOpen: boolean): JsonObject {
  const { [prop.name]: _, ...others } = form.values;
  const now = stable(parentsOf(form.props, prop).map(({ name }) => form.values[name] ?? null));
  const on = useRested(now);
  const [asked, setAsked] = useState({ others, on });
  if (asked.on === on && (!isOpen || stable(asked.others) === stable(others))) return asked.others;
  setAsked({ others, on });
  return others;
}

/** The value once it was the same for a while. */
function useRested(value: string): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}

/** In place of options: which other prop may have to get a value first. */
function NoneOf({ form, prop, isSearched }: Omit<Props, "control"> & { isSearched: boolean }) {
  const parents = parentsOf(form.props, prop);
  const empty = parents.find(({ name, type }) => type !== "app" && form.values[name] === undefined);
  return (
    <p className="combo-none">
      {isSearched ? "No match." : "No options."}
      {empty !== undefined && ` It may depend on ${empty.label}, which has no value.`}
    </p>
  );
}

type Param = { page: number; context: unknown };
