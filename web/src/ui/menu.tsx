/** Menu, with items, ticks, heads and lines. */

import "./menu.css";
import { Menu as BaseMenu } from "@base-ui/react/menu";
import { Lock, type LucideIcon } from "lucide-react";
import { cloneElement, type ReactElement, type ReactNode } from "react";
import { lockOf } from "./button";
import { cn } from "./cn";
import { Keys } from "./keys";
import { useLayer } from "./layer";
import { Tip } from "./tip";

export function Menu({
  trigger,
  label,
  align = "end",
  refused,
  children,
}: {
  trigger: ReactElement<{ refused?: string | undefined }>;
  label?: string;
  align?: "start" | "end";
  /** Why none of its items can be chosen: its button is locked, and says so. */
  refused?: string | undefined;
  children: ReactNode;
}) {
  const container = useLayer();
  if (refused) return cloneElement(trigger, { refused });
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
  /** Why the item cannot be chosen, said by a tip. */
  refused?: string | undefined;
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
  refused,
  onSelect,
  render,
  children,
}: ItemProps) {
  const item = (
    <BaseMenu.Item
      className={cn("menu-item", danger && "is-danger")}
      disabled={disabled || Boolean(refused)}
      {...lockOf(refused)}
      render={render}
      onClick={onSelect}
    >
      {refused ? (
        <Lock className="icon" aria-hidden="true" />
      ) : (
        Icon !== undefined && <Icon className="icon" aria-hidden="true" />
      )}
      {children}
      {keys !== undefined && !refused && <Keys of={keys} />}
    </BaseMenu.Item>
  );
  return refused ? <Tip text={refused}>{item}</Tip> : item;
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
