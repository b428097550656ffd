/** Columns of a list that a person chose, remembered by the list's name. */

import { Columns3 } from "lucide-react";
import { IconButton } from "~/ui/button";
import { Menu, MenuHead, MenuItem, MenuLine, MenuTick } from "~/ui/menu";
import { remember, useRemembered } from "./remembered";

export type Column = {
  /** As styles name it: `.c-NAME` is hidden within `.no-NAME`. */
  name: string;
  label: string;
  /** Hidden until it is asked for. */
  off?: boolean;
};

/** The names that are hidden, and the classes by which styles hide them: `no-took no-when`. */
export function useColumns(list: string, columns: readonly Column[]) {
  const hidden = hiddenOf(columns, useRemembered(`columns.${list}`));
  return { hidden, className: hidden.map((name) => `no-${name}`).join(" ") };
}

/** `-took +version`: what differs from how the list begins. */
export function hiddenOf(columns: readonly Column[], chosen: string): string[] {
  const words = chosen.split(" ");
  return columns
    .filter(({ name, off }) => (off ? !words.includes(`+${name}`) : words.includes(`-${name}`)))
    .map(({ name }) => name);
}

export function chosenOf(columns: readonly Column[], hidden: readonly string[]): string {
  return columns
    .flatMap(({ name, off = false }) => {
      const isHidden = hidden.includes(name);
      return isHidden === off ? [] : `${isHidden ? "-" : "+"}${name}`;
    })
    .join(" ");
}

export function ColumnsMenu({ list, columns }: { list: string; columns: readonly Column[] }) {
  const { hidden } = useColumns(list, columns);
  const hide = (names: readonly string[]) => remember(`columns.${list}`, chosenOf(columns, names));
  return (
    <Menu
      label="Columns"
      trigger={<IconButton icon={Columns3} size="sm" label="Columns" className="only-wide" />}
    >
      <MenuHead>Columns</MenuHead>
      {columns.map(({ name, label }) => (
        <MenuTick
          key={name}
          checked={!hidden.includes(name)}
          onChange={(on) => hide(on ? hidden.filter((each) => each !== name) : [...hidden, name])}
        >
          {label}
        </MenuTick>
      ))}
      {chosenOf(columns, hidden) !== "" && (
        <>
          <MenuLine />
          <MenuItem onSelect={() => remember(`columns.${list}`, "")}>Default columns</MenuItem>
        </>
      )}
    </Menu>
  );
}
