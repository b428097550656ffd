/** Views of a list that a person saved: a name, and what the address says. */

import { Bookmark, X } from "lucide-react";
import { useState } from "react";
import { isObject, listOf, textOf } from "~/api/json";
import { Button, IconButton } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { Menu, MenuHead, MenuItem, MenuLine } from "~/ui/menu";
import { say } from "~/ui/toast";
import { FormDialog } from "./form-dialog";
import { remember, useRemembered } from "./remembered";

export type SavedView = { name: string; search: Readonly<Record<string, string>> };

const NAME_MAX = 60;
const VIEWS_MAX = 30;

/** What was kept under a name: anything but views is none. */
export function viewsOf(text: string): SavedView[] {
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch {
    return [];
  }
  return listOf(kept).flatMap((each) => {
    const name = isObject(each) ? textOf(each.name) : undefined;
    if (!isObject(each) || name === undefined || !isObject(each.search)) return [];
    const search = Object.entries(each.search).flatMap(([key, value]) =>
      typeof value === "string" ? [[key, value] as const] : [],
    );
    return [{ name, search: Object.fromEntries(search) }];
  });
}

export function SavedViews({
  list,
  search,
  onOpen,
}: {
  list: string;
  /** What the address says now; without anything there is nothing to save. */
  search: Readonly<Record<string, string>>;
  onOpen: (search: SavedView["search"]) => void;
}) {
  const views = viewsOf(useRemembered(`views.${list}`));
  const [asks, setAsks] = useState(false);
  const [tidies, setTidies] = useState(false);
  const write = (next: readonly SavedView[]) =>
    remember(`views.${list}`, next.length === 0 ? "" : JSON.stringify(next));
  const canSave = Object.keys(search).length > 0;
  if (views.length === 0 && !canSave) return null;
  const here = stableText(search);
  return (
    <>
      <Menu
        label="Saved views"
        trigger={
          <Button size="sm" look="quiet" icon={Bookmark}>
            Views
          </Button>
        }
      >
        {views.length > 0 && <MenuHead>Saved views</MenuHead>}
        {views.map((view) => (
          <MenuItem key={view.name} onSelect={() => onOpen(view.search)}>
            <span className="option-tick" aria-hidden="true">
              {stableText(view.search) === here ? "✓" : ""}
            </span>
            <span className="cut">{view.name}</span>
          </MenuItem>
        ))}
        {views.length > 0 && <MenuLine />}
        <MenuItem disabled={!canSave} onSelect={() => setAsks(true)}>
          Save this view…
        </MenuItem>
        {views.length > 0 && <MenuItem onSelect={() => setTidies(true)}>Delete views…</MenuItem>}
      </Menu>
      {asks && (
        <Save
          taken={views.map(({ name }) => name)}
          onClose={() => setAsks(false)}
          onSave={(name) => {
            setAsks(false);
            const others = views.filter((view) => view.name !== name);
            write([...others, { name, search }].slice(-VIEWS_MAX));
            say({ title: "View saved", about: name, shape: "succeeded" });
          }}
        />
      )}
      {tidies && (
        <Dialog open onClose={() => setTidies(false)} title="Saved views">
          <ul className="dialog-body saved-views" aria-label="Saved views">
            {views.map(({ name }) => (
              <li key={name} className="row">
                <span className="grow cut">{name}</span>
                <IconButton
                  icon={X}
                  size="sm"
                  label={`Delete the view ${name}`}
                  onClick={() => write(views.filter((view) => view.name !== name))}
                />
              </li>
            ))}
            {views.length === 0 && <li className="mid">No views left.</li>}
          </ul>
        </Dialog>
      )}
    </>
  );
}

const stableText = (search: Readonly<Record<string, string>>) =>
  JSON.stringify(Object.entries(search).sort(([a], [b]) => (a < b ? -1 : 1)));

function Save({
  taken,
  onSave,
  onClose,
}: {
  taken: readonly string[];
  onSave: (name: string) => void;
  onClose: () => void;
}) {
  const [name, setName] = useState("");
  const said = name.trim();
  return (
    <FormDialog
      title="Save this view"
      act={taken.includes(said) ? "Replace view" : "Save view"}
      busy="Saving…"
      mutation={{ error: null, isPending: false, mutate: () => onSave(said) }}
      refused={said === "" ? "Enter a name first." : undefined}
      onClose={onClose}
    >
      <Field
        label="Name"
        optional={false}
        hint="It stores the filters and the search, not the runs."
      >
        {(control) => (
          <Input
            {...control}
            maxLength={NAME_MAX}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
