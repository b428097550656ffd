/** Select of a short, fixed list. Long lists and those that are loaded use the combobox. */

import "./menu.css";
import "./field.css";
import { Select as BaseSelect } from "@base-ui/react/select";
import { Check, ChevronsUpDown } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "./cn";
import type { ControlProps } from "./field";
import { useLayer } from "./layer";

export type Choice = { value: string; label: ReactNode; note?: ReactNode };

type Props = Partial<ControlProps> & {
  value: string | null;
  onChange: (value: string) => void;
  /** Takes the value away; without it a value that is chosen stays chosen. */
  onClear?: (() => void) | undefined;
  choices: readonly Choice[];
  placeholder?: string;
  small?: boolean;
  disabled?: boolean;
  className?: string;
  "aria-label"?: string;
};

/** Chosen to take the value away: no value of a list. */
const NONE = "\u0000none";

/** One of a short, fixed list. Long or asked-for lists take the combobox. */
export function Select({
  value,
  onChange,
  onClear,
  choices,
  placeholder = "Choose",
  small,
  disabled,
  className,
  ...rest
}: Props) {
  const container = useLayer();
  return (
    <BaseSelect.Root
      value={value}
      onValueChange={(next) => {
        if (next === NONE) onClear?.();
        else if (next !== null) onChange(next);
      }}
      items={choices.map(({ value: item, label }) => ({ value: item, label }))}
      disabled={disabled}
      modal={false}
    >
      <BaseSelect.Trigger
        {...rest}
        className={cn("input select-trigger", small && "is-sm", className)}
      >
        <span className="cut">
          <BaseSelect.Value>
            {(chosen: string | null) =>
              choices.find((choice) => choice.value === chosen)?.label ?? (
                <span className="dim">{chosen ?? placeholder}</span>
              )
            }
          </BaseSelect.Value>
        </span>
        <ChevronsUpDown className="icon is-sm" aria-hidden="true" />
      </BaseSelect.Trigger>
      <BaseSelect.Portal container={container}>
        <BaseSelect.Positioner
          className="pop-layer"
          positionMethod="fixed"
          sideOffset={4}
          align="start"
          alignItemWithTrigger={false}
        >
          <BaseSelect.Popup className="pop select-pop">
            <BaseSelect.List>
              {onClear !== undefined && value !== null && (
                <BaseSelect.Item value={NONE} className="option">
                  <span className="option-tick" />
                  <BaseSelect.ItemText>
                    <span className="dim">No value</span>
                  </BaseSelect.ItemText>
                </BaseSelect.Item>
              )}
              {choices.map((choice) => (
                <BaseSelect.Item key={choice.value} value={choice.value} className="option">
                  <span className="option-tick">
                    <BaseSelect.ItemIndicator>
                      <Check className="icon is-sm" aria-hidden="true" />
                    </BaseSelect.ItemIndicator>
                  </span>
                  <BaseSelect.ItemText>{choice.label}</BaseSelect.ItemText>
                  {choice.note !== undefined && <span className="end">{choice.note}</span>}
                </BaseSelect.Item>
              ))}
            </BaseSelect.List>
          </BaseSelect.Popup>
        </BaseSelect.Positioner>
      </BaseSelect.Portal>
    </BaseSelect.Root>
  );
}
