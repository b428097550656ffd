/** Palette: pages, things and acts by a few letters, and ids pasted whole. */

import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { CornerDownLeft, Keyboard, type LucideIcon, Search as SearchIcon } from "lucide-react";
import { useState } from "react";
import { Keys } from "~/ui/keys";
import { useEnterFirst } from "./enter-first";
import { placeOfId } from "./ids";
import { groups, more } from "./nav";
import { ranked } from "./palette-rank";
import { shortcuts } from "./shortcuts";
import { useThings } from "./things";

export type Act = {
  id: string;
  label: string;
  icon: LucideIcon;
  /** What is shown at the right. */
  note?: string;
  keys?: string;
  also?: string;
  onSelect: () => void;
};

type Group = { value: string; items: Act[]; fits?: boolean };

export function Palette({
  open,
  first,
  onClose,
  acts,
  onSheet,
}: {
  open: boolean;
  /** What was typed before the palette was there. */
  first: string;
  onClose: () => void;
  acts: readonly Act[];
  onSheet: () => void;
}) {
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose();
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="scrim palette-layer" />
        <Dialog.Popup className="palette" aria-label="Search or run a command">
          <Found first={first} acts={acts} onSheet={onSheet} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Found({
  first,
  acts,
  onSheet,
  onClose,
}: {
  first: string;
  acts: readonly Act[];
  onSheet: () => void;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const [text, setText] = useState(first);
  const { found: things, earlier, answered } = useThings(text);
  const go = (href: string) => () => void navigate({ href });

  const pages: Act[] = [...groups.flatMap(({ places }) => places), ...more].map(
    ({ to, label, icon, shortcut, also }) => ({
      id: to,
      label,
      icon,
      ...(shortcut === undefined ? {} : { keys: shortcuts[shortcut].keys }),
      ...(also === undefined ? {} : { also }),
      onSelect: go(to),
    }),
  );
  const pasted = placeOfId(text.trim());
  const found: Group[] = [
    {
      value: "ID",
      items:
        pasted === null
          ? []
          : [
              {
                id: text,
                label: `Open ${text.trim()}`,
                icon: CornerDownLeft,
                note: pasted.kind,
                onSelect: go(pasted.href),
              },
            ],
    },
    { value: "Pages", items: pages },
    {
      value: "Records",
      // The server looked for the words; what it found for others must fit by itself.
      fits: !earlier,
      items: things.map(({ id, name, note, icon, href }) => ({
        id,
        label: name,
        icon,
        note,
        onSelect: go(href),
      })),
    },
    {
      value: "Actions",
      items: [
        ...acts,
        {
          id: "sheet",
          label: "Show all shortcuts",
          icon: Keyboard,
          keys: shortcuts.sheet.keys,
          onSelect: onSheet,
        },
      ],
    },
  ];
  const shown = ranked(found, text);
  const select = (act: Act) => {
    onClose();
    act.onSelect();
  };
  const enter = useEnterFirst(
    text,
    answered ? shown.flatMap(({ items }) => items) : undefined,
    select,
  );

  return (
    <Autocomplete.Root
      open
      inline
      items={shown}
      filter={null}
      value={text}
      onValueChange={setText}
      itemToStringValue={(act: Act) => act.label}
      autoHighlight="always"
      keepHighlight
    >
      <div className="palette-input">
        <SearchIcon className="icon" aria-hidden="true" />
        <Autocomplete.Input
          aria-label="Search or run a command"
          placeholder="A page, a record, a command or an ID"
          spellCheck={false}
          onKeyDown={(event) => {
            // What is shown is taken by the list.
            if (event.nativeEvent.isComposing || shown.length > 0) return;
            if (event.key === "Enter") enter();
          }}
        />
        <Dialog.Close className="sr">Close</Dialog.Close>
        <Keys of="escape" />
      </div>
      <div className="palette-list">
        <Autocomplete.Empty>
          <p className="palette-none">No matches. You can also paste a whole ID.</p>
        </Autocomplete.Empty>
        <Autocomplete.List>
          {(group: Group) => (
            <Autocomplete.Group key={group.value} items={group.items}>
              <Autocomplete.GroupLabel className="menu-head">{group.value}</Autocomplete.GroupLabel>
              <Autocomplete.Collection>
                {(act: Act) => (
                  <Autocomplete.Item
                    key={act.id}
                    value={act}
                    className="palette-item"
                    onClick={() => select(act)}
                  >
                    <act.icon className="icon" aria-hidden="true" />
                    <span className="cut">{act.label}</span>
                    {act.note !== undefined && <span className="end">{act.note}</span>}
                    {act.keys !== undefined && (
                      <span className="end">
                        <Keys of={act.keys} />
                      </span>
                    )}
                  </Autocomplete.Item>
                )}
              </Autocomplete.Collection>
            </Autocomplete.Group>
          )}
        </Autocomplete.List>
      </div>
    </Autocomplete.Root>
  );
}
