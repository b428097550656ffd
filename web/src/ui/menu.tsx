/** Menu, with items, ticks, heads and lines. */

import "./menu.css";
import { Menu as BaseMenu } from "@base-ui/react/menu";
import type { LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { cn } from "./cn";
import { Keys } from "./keys";
import { useLayer } from "./layer";

export function Menu({
  trigger,
  label,
  align = "end",
  children,
}: {
  trigger: ReactElement;
  label?: string;
  align?: "start" | "end";
  children: ReactNode;
}) {
  const container = useLayer();
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal container={container}>
        <BaseMenu.Positioner
          sideOffset={4}
          align={align}
          positionMethod="fixed"
          className="pop-layer"
        >
          <BaseMenu.Popup className="pop menu" aria-label={label}>
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

type ItemProps = {
  icon?: LucideIcon;
  keys?: string;
  danger?: boolean;
  disabled?: boolean;
  onSelect?: () => void;
  /** An element to render instead, such as a link. */
  render?: ReactElement;
  children: ReactNode;
};

export function MenuItem({
  icon: Icon,
  keys,
  danger,
  disabled,
  onSelect,
  render,
  children,
}: ItemProps) {
  return (
    <BaseMenu.Item
      className={cn("menu-item", danger && "is-danger")}
      disabled={disabled}
      render={render}
      onClick={onSelect}
    >
      {Icon !== undefined && <Icon className="icon" aria-hidden="true" />}
      {children}
      {keys !== undefined && <Keys of={keys} />}
    </BaseMenu.Item>
  );
}

/** An item that stays open and is ticked or not. */
export function MenuTick({
  checked,
  onChange,
  children,
}: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ReactNode;
}) {
  return (
    <BaseMenu.CheckboxItem
      className="menu-item"
      checked={checked}
      closeOnClick={false}
      onCheckedChange={(next) => onChange(next)}
    >
      <span className="option-tick" aria-hidden="true">
        {checked ? "✓" : ""}
      </span>
      {children}
    </BaseMenu.CheckboxItem>
  );
}

export function MenuHead({ children }: { children: ReactNode }) {
  return <div className="menu-head">{children}</div>;
}

export function MenuLine() {
  return <BaseMenu.Separator className="menu-line" />;
}
