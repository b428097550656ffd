/** List to search and choose one or several items from. */

import "./combobox.css";
import "./menu.css";
import "./field.css";
import { Combobox as Base } from "@base-ui/react/combobox";
import { Check, ChevronsUpDown, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { cn } from "./cn";
import { type FootKeys, useFootKeys } from "./combobox-foot";
import { type ControlProps, useLocked } from "./field";
import { Marked } from "./json/marked";
import { useLayer } from "./layer";

export type Item = {
  /** Identity; also the value that is typed where a value is no option. */
  key: string;
  label: string;
  note?: ReactNode;
};

type Shared = Partial<ControlProps> & {
  items: readonly Item[];
  placeholder?: string;
  /** Called when the list opens: the moment to ask for what it holds. */
  onOpen?: () => void;
  onClose?: () => void;
  /** Called with what is typed, where the list is searched elsewhere; else it is filtered here. */
  onSearch?: (text: string) => void;
  /** Below the list: how many there are, more, again. */
  foot?: ReactNode;
  /** In place of the list while it is empty. */
  none?: ReactNode;
  disabled?: boolean;
  className?: string;
  "aria-label"?: string;
};

type Props = Shared &
  (
    | { multiple?: false; value: Item | null; onChange: (item: Item | null) => void }
    | { multiple: true; value: readonly Item[]; onChange: (items: Item[]) => void }
  );

const same = (one: Item, other: Item) => one.key === other.key;

/** The object of before, as long as it says the same: another one would put its label in the place of what is being typed. */
function useSame(value: Item | null): Item | null {
  const [kept, setKept] = useState(value);
  const says = (item: Item | null) => JSON.stringify([item?.key, item?.label]);
  if (says(kept) === says(value)) return kept;
  setKept(value);
  return value;
}

/** A list to search and choose from, with what stands below it. */
export function Combobox(props: Props) {
  const { items, onOpen, onClose, onSearch } = props;
  const locked = useLocked();
  const disabled = props.disabled === true || locked;
  const [text, setText] = useState("");
  const ways = useFootKeys();
  const value = useSame(props.multiple ? null : props.value);
  const shared = {
    items: [...items],
    isItemEqualToValue: same,
    itemToStringLabel: (item: Item) => item.label,
    disabled,
    autoHighlight: true,
    // Searched elsewhere: what came fits.
    ...(onSearch === undefined ? {} : { filter: null }),
    onOpenChange: (open: boolean) => {
      if (open) return onOpen?.();
      setText("");
      onClose?.();
    },
    onInputValueChange: (typed: string, { reason }: { reason: string }) => {
      if (reason === "item-press") return;
      setText(reason === "input-change" ? typed : "");
      if (reason === "input-change") onSearch?.(typed);
    },
  };
  return props.multiple ? (
    <Base.Root
      {...shared}
      multiple
      value={[...props.value]}
      onValueChange={(next) => props.onChange([...next])}
    >
      <Many {...props} disabled={disabled} ways={ways} />
      <List {...props} text={text} ways={ways} />
    </Base.Root>
  ) : (
    <Base.Root {...shared} value={value} onValueChange={(next) => props.onChange(next)}>
      <One {...props} disabled={disabled} ways={ways} />
      <List {...props} text={text} ways={ways} />
    </Base.Root>
  );
}

function ariaOf(props: Shared) {
  return {
    id: props.id,
    placeholder: props.placeholder,
    "aria-describedby": props["aria-describedby"],
    "aria-invalid": props["aria-invalid"],
    "aria-required": props["aria-required"],
    "aria-label": props["aria-label"],
    // While the list is open its label is hidden, which `for` does not reach.
    "aria-labelledby":
      props.id === undefined || props["aria-label"] !== undefined ? undefined : `${props.id}-l`,
  };
}

function One({ ways, ...props }: Shared & { value: Item | null; ways: FootKeys }) {
  return (
    <Base.InputGroup
      className={cn("input combo", props["aria-invalid"] && "is-bad", props.className)}
    >
      <Base.Input
        {...ariaOf(props)}
        {...ways.field}
        autoComplete="off"
        spellCheck={false}
        onClick={({ currentTarget: field }) => {
          // What is typed next takes the place of the value, and is not added to it.
          if (field.value === props.value?.label) field.select();
        }}
      />
      <span className="combo-end">
        {props.value !== null && props.disabled !== true && (
          <Base.Clear aria-label="Clear">
            <X className="icon is-sm" aria-hidden="true" />
          </Base.Clear>
        )}
        <Base.Trigger aria-label="Open the list">
          <ChevronsUpDown className="icon is-sm" aria-hidden="true" />
        </Base.Trigger>
      </span>
    </Base.InputGroup>
  );
}

function Many({ ways, ...props }: Shared & { value: readonly Item[]; ways: FootKeys }) {
  return (
    <Base.InputGroup
      className={cn("input combo", props["aria-invalid"] && "is-bad", props.className)}
    >
      <Base.Chips className="combo-chips">
        {props.value.map((item) => (
          <Base.Chip key={item.key} className="combo-chip" aria-label={item.label}>
            <span className="cut">{item.label}</span>
            {props.disabled !== true && (
              <Base.ChipRemove aria-label={`Remove ${item.label}`}>
                <X className="icon is-xs" aria-hidden="true" />
              </Base.ChipRemove>
            )}
          </Base.Chip>
        ))}
        <Base.Input {...ariaOf(props)} {...ways.field} autoComplete="off" spellCheck={false} />
      </Base.Chips>
      <span className="combo-end">
        <Base.Trigger aria-label="Open the list">
          <ChevronsUpDown className="icon is-sm" aria-hidden="true" />
        </Base.Trigger>
      </span>
    </Base.InputGroup>
  );
}

function List({ text, none, foot, ways }: Shared & { text: string; ways: FootKeys }) {
  const container = useLayer();
  return (
    <Base.Portal container={container}>
      <Base.Positioner className="pop-layer" positionMethod="fixed" sideOffset={4} align="start">
        <Base.Popup className="pop combo-pop">
          <Base.Empty>
            {none === undefined ? (
              <p className="combo-none">{text === "" ? "No options." : "No match."}</p>
            ) : (
              none
            )}
          </Base.Empty>
          <Base.List className="combo-list">
            {(item: Item) => (
              <Base.Item key={item.key} value={item} className="option">
                <span className="option-tick">
                  <Base.ItemIndicator>
                    <Check className="icon is-sm" aria-hidden="true" />
                  </Base.ItemIndicator>
                </span>
                <span className="grow">
                  <Marked text={item.label} words={text} />
                </span>
                {item.note !== undefined && <span className="end">{item.note}</span>}
              </Base.Item>
            )}
          </Base.List>
          {foot !== undefined && (
            // Keys and clicks of the buttons within, on their way up.
            <div className="combo-foot" {...ways.foot}>
              {foot}
            </div>
          )}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  );
}
