/** State of a form of props: drafts by name, errors, and props that the component returns anew. */

import { useMutation } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { type FormTarget, readProps } from "~/api/components";
import { sentence } from "~/api/errors";
import type { JsonObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import { forget, keep, keptOf } from "~/shell/kept";
import { ownName } from "~/shell/kept-tabs";
import { useRefusal } from "~/shell/session";
import { stable } from "~/ui/changes";
import type { Known } from "~/ui/code/completion";
import { focusWithin } from "~/ui/field";
import { fieldId } from "./field-id";
import { keptDrafts, typedOf, withoutSecrets } from "./kept-drafts";
import { parentsOf } from "./parents";
import { emptyDraft, followed, plainDraft, typedSince } from "./plain-drafts";
import { type Draft, type Drafts, draftOf, isMadeByServer, type Problems, readAll } from "./values";

const KEEP_WAIT_MS = 400;

type Given = {
  target: FormTarget;
  props: readonly PropDef[];
  /** Values that are stored already; of secrets the server gives none. */
  stored?: JsonObject;
  /** Names of secrets that have a value on the server. */
  sealed?: readonly string[];
  /** Under which name what is typed is kept in this browser; absent: whoever shows the form keeps it. */
  keepAs?: string;
  /** Fields that held no valid value when the form was left, as `invalid` gave them. */
  left?: Readonly<Record<string, { draft: unknown }>> | undefined;
  /** Values may be `{{expressions}}`, as those of steps are. */
  expressions?: boolean;
  /** What expressions may name, and what it holds now. */
  known?: (() => Known) | undefined;
};

type Labels = Readonly<Record<string, string>>;

/** Props whose chosen value may be no option any more now that `changed` is another one, by what they depend on. */
function outdatedAfter(
  changed: string,
  props: readonly PropDef[],
  drafts: Drafts,
  before: Labels,
): Labels {
  const { [changed]: _, ...others } = before;
  const after: Record<string, string> = others;
  const parent = props.find(({ name }) => name === changed);
  if (parent === undefined) return after;
  for (const prop of props) {
    const isChosen = drafts[prop.name]?.kind === "value";
    if (isChosen && parentsOf(props, prop).includes(parent)) after[prop.name] = parent.label;
  }
  return after;
}

export type PropForm = ReturnType<typeof usePropForm>;

export function usePropForm({
  target,
  props: first,
  stored = {},
  sealed = [],
  keepAs: of,
  left = {},
  expressions = false,
  known,
}: Given) {
  const keepAs = useMemo(() => (of === undefined ? undefined : ownName(of)), [of]);
  const plainOf = (prop: PropDef) => plainDraft(prop, { stored, sealed, expressions });
  const [start] = useState(() => {
    const kept = keepAs === undefined ? undefined : keptOf(keepAs);
    const drafts: Record<string, Draft | undefined> = {};
    for (const prop of first) drafts[prop.name] = plainOf(prop);
    const found = keptDrafts(
      Object.fromEntries(Object.entries(left).map(([name, { draft }]) => [name, draft])),
    );
    return {
      plain: drafts,
      drafts: { ...drafts, ...found, ...keptDrafts(kept?.value) },
      left: Object.keys(found),
      keptAt: kept?.at,
    };
  });
  /** Drafts of what is stored: what equals them was not typed here. */
  const plain = useRef<Drafts>(start.plain);
  /** Props whose stored value is their default, which the server stores: it follows a new definition. */
  const defaulted = useRef(new Set<string>());
  const [props, setProps] = useState(first);
  const [drafts, setDrafts] = useState<Drafts>(start.drafts);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set(start.left));
  const [all, setAll] = useState(false);
  const [refused, setRefused] = useState<Problems>({});
  const [keptAt, setKeptAt] = useState(start.keptAt);
  const [changed, setChanged] = useState(start.keptAt !== undefined);
  const [saves, setSaves] = useState(0);
  const [outdated, setOutdated] = useState<Labels>({});
  const formId = useRef<string | undefined>(undefined);
  const latest = useRef(drafts);
  latest.current = drafts;

  const read = readAll(props, drafts, expressions);
  const missing = read.missing.filter((name) => !sealed.includes(name));

  // Who only looks is shown the props of the record.
  const mayAsk = useRefusal("deploy") === undefined;
  const reload = useMutation({
    /** `_by`: the prop whose change asks; none where the form does. */
    mutationFn: async (_by: string | undefined) => {
      const { values } = readAll(props, latest.current, expressions);
      const signal = new AbortController().signal;
      return readProps({ target, values, form: formId.current }, signal);
    },
    onSuccess: (made, by) => {
      formId.current = made.form;
      setProps(made.props);
      for (const prop of by === undefined ? made.props : []) {
        const isDefault = stable(stored[prop.name]) === stable(prop.default);
        if (isDefault) defaulted.current.add(prop.name);
      }
      const plainAnew = (prop: PropDef) =>
        defaulted.current.has(prop.name)
          ? emptyDraft(prop, { stored, sealed, expressions })
          : plainOf(prop);
      const after = Object.fromEntries(made.props.map((prop) => [prop.name, plainAnew(prop)]));
      // What was typed stays, also of props that are gone for now.
      // Two answers may come before what the first one gave is drawn.
      latest.current = followed(latest.current, plain.current, after);
      setDrafts(latest.current);
      plain.current = { ...plain.current, ...after };
    },
    onError: (_error, by) => {
      if (by === undefined) return;
      requestAnimationFrame(() =>
        document.getElementById(fieldId(by))?.scrollIntoView({ block: "nearest" }),
      );
    },
  });
  const { mutate: reloadProps } = reload;
  const reloads = first.some((prop) => prop.reloads);
  const reloading = first.filter((prop) => prop.reloads).map(({ label }) => label);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: values that are taken as one ask once more
  useEffect(() => {
    // A component that says its props by itself may have more than its record shows.
    if (reloads && mayAsk) reloadProps(undefined);
  }, [reloads, mayAsk, reloadProps, turn]);

  useEffect(() => {
    if (!changed || keepAs === undefined) return;
    const timer = setTimeout(() => {
      // What is not of this person would take back later what others save meanwhile.
      setKeptAt(keep(keepAs, typedOf(withoutSecrets(props, drafts), plain.current)));
    }, KEEP_WAIT_MS);
    return () => clearTimeout(timer);
  }, [changed, drafts, props, keepAs]);

  const commit = (name: string) => {
    setTouched((before) => new Set([...before, name]));
    if (props.find((prop) => prop.name === name)?.reloads) reloadProps(name);
  };

  const showFirst = (isWrong: (name: string) => boolean): boolean => {
    const first = props.find(({ name }) => isWrong(name));
    if (first !== undefined) focusWithin(fieldId(first.name));
    return first !== undefined;
  };

  return {
    target,
    props,
    drafts,
    sealed,
    expressions,
    known,
    values: read.values,
    problems: read.problems,
    /** Fields that hold no valid value; nobody can mend one that is hidden. */
    invalid: Object.fromEntries(
      props.flatMap(({ name, label, hidden }) => {
        const why = read.problems[name];
        return why === undefined || hidden ? [] : [[name, { label, why, draft: drafts[name] }]];
      }),
    ),
    formId: () => formId.current,
    changed,
    /** How often the form was saved or set back: fields that were opened close then. */
    saves,
    /** When what was typed was kept in this browser. */
    keptAt: changed ? keptAt : undefined,
    isReloading: reload.isPending,
    reloadProblem: reload.error === null ? undefined : sentence(reload.error),
    /** The field whose change the component was asked for, where it is there still. */
    reloadAt: props.find(({ name }) => name === reload.variables)?.name,
    reloadAgain: () => reloadProps(reload.variables),
    /** Label of the props whose values made the component ask for this one too. */
    addedBy: (name: string): string | undefined =>
      first.some((prop) => prop.name === name) ? undefined : reloading.join(" or "),
    /** Label of the prop that was changed after the value of this one was chosen. */
    outdatedBy: (name: string): string | undefined => outdated[name],
    /** Sets a draft while it is typed. */
    set(name: string, draft: Draft | undefined) {
      setChanged(true);
      setOutdated((before) => outdatedAfter(name, props, drafts, before));
      setDrafts((before) => ({ ...before, [name]: draft }));
      setRefused((before) => {
        const { [name]: _, ...rest } = before;
        return rest;
      });
    },
    /** Called when typing in a field ended: its problem is shown from then on. */
    commit,
    /** Sets a draft that was chosen, which ends at once. */
    choose(name: string, draft: Draft | undefined) {
      this.set(name, draft);
      latest.current = { ...latest.current, [name]: draft };
      commit(name);
    },
    /** What is wrong with the field, once it is time to say so. */
    problemOf(prop: PropDef): string | undefined {
      if (refused[prop.name] !== undefined) return refused[prop.name];
      if (!all && !touched.has(prop.name)) return undefined;
      if (read.problems[prop.name] !== undefined) return read.problems[prop.name];
      return all && missing.includes(prop.name) ? "A value is required." : undefined;
    },
    /** Fields that need the person, in the order of the form. */
    needs: props
      .map((prop) => prop.name)
      .filter(
        (name) =>
          refused[name] !== undefined ||
          read.problems[name] !== undefined ||
          missing.includes(name),
      ),
    /** Shows all that is wrong, and the first such field; whether nothing is. */
    reveal(): boolean {
      setAll(true);
      return !showFirst((name) => missing.includes(name) || read.problems[name] !== undefined);
    },
    revealed: all,
    /** Takes over what the server found wrong, and shows the first such field. */
    refuse(problems: Problems) {
      setRefused(problems);
      showFirst((name) => problems[name] !== undefined);
    },
    /** Takes values that were typed as one JSON; secrets and what it does not name stay. */
    takeAll(values: JsonObject) {
      setChanged(true);
      setRefused({});
      setDrafts((before) => {
        const next: Record<string, Draft | undefined> = { ...before };
        for (const prop of props) {
          if (prop.secret || isMadeByServer(prop)) continue;
          next[prop.name] = draftOf(prop, values[prop.name], expressions);
        }
        return next;
      });
      if (props.some((prop) => prop.reloads)) setTurn((turn) => turn + 1);
    },
    /**
     * `values`, as this render has them, are on the server: only what was typed after it is kept
     * here. `taken`: values that others saved meanwhile.
     */
    done(taken: JsonObject = {}) {
      if (keepAs !== undefined) forget(keepAs);
      // What the component returned meanwhile is plain, and nobody's change.
      const later = typedSince(typedSince(latest.current, drafts), plain.current);
      setChanged(Object.keys(later).length > 0);
      setSaves((before) => before + 1);
      setOutdated({});
      const next: Record<string, Draft | undefined> = { ...latest.current };
      const { values } = readAll(props, next, expressions);
      for (const prop of props) {
        const { name } = prop;
        if (name in later) continue;
        if (name in taken) next[name] = draftOf(prop, taken[name], expressions);
        // Sent again with a later change, it would replace what others set meanwhile.
        else if (prop.secret) next[name] = undefined;
        // The server gives what is left empty its default.
        else if (values[name] === undefined)
          next[name] = emptyDraft(prop, { stored, sealed, expressions });
      }
      const sent = Object.keys(later).map((name) => [name, drafts[name]]);
      plain.current = { ...next, ...Object.fromEntries(sent) };
      defaulted.current.clear();
      setDrafts(next);
    },
    /** Back to what is stored. */
    reset() {
      if (keepAs !== undefined) forget(keepAs);
      setChanged(false);
      setSaves((before) => before + 1);
      setOutdated({});
      setAll(false);
      setRefused({});
      setTouched(new Set());
      const drafts: Record<string, Draft | undefined> = {};
      for (const prop of props) drafts[prop.name] = plainOf(prop);
      plain.current = drafts;
      setDrafts(drafts);
      // The props that are shown may be those of values that are gone.
      if (reloads) setTurn((turn) => turn + 1);
    },
  };
}
