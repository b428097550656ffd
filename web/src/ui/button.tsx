/** Button and icon button, and the look that links share with them. */

import "./button.css";
import type { LucideIcon } from "lucide-react";
import { Lock } from "lucide-react";
import type { ComponentPropsWithRef, ReactNode } from "react";
import { cn } from "./cn";
import { ariaKeys, Keys } from "./keys";
import { Glyph } from "./status";
import { Tip } from "./tip";

export type Look = "normal" | "primary" | "quiet" | "danger";

export type ButtonLook = {
  look?: Look | undefined;
  size?: "sm" | "md" | "lg" | undefined;
  icon?: LucideIcon | undefined;
  keys?: string | undefined;
  wide?: boolean | undefined;
};

export function buttonClass({ look = "normal", size = "md", wide = false }: ButtonLook): string {
  return cn(
    "btn",
    look !== "normal" && `is-${look}`,
    size !== "md" && `is-${size}`,
    wide && "is-wide",
  );
}

type ButtonProps = Omit<ComponentPropsWithRef<"button">, "disabled"> &
  ButtonLook & {
    /** What is under way, such as "Deploying…"; the button cannot be pressed meanwhile. */
    busy?: string | false | undefined;
    /** Why the button cannot be pressed; it stays in the order of focus and says so. */
    refused?: ReactNode;
  };

export function Button({
  look,
  size,
  icon: Icon,
  keys,
  wide,
  busy,
  refused,
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const stopped = Boolean(busy) || Boolean(refused);
  const button = (
    <button
      type="button"
      {...rest}
      className={cn(buttonClass({ look, size, wide }), Boolean(busy) && "is-busy", className)}
      aria-disabled={stopped || undefined}
      aria-keyshortcuts={keys === undefined ? undefined : ariaKeys(keys)}
      onClick={(event) => {
        if (stopped) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy ? (
        <Glyph status="running" />
      ) : refused ? (
        <Lock className="icon" aria-hidden="true" />
      ) : (
        Icon !== undefined && <Icon className="icon" aria-hidden="true" />
      )}
      {busy || children}
      {keys !== undefined && !stopped && <Keys of={keys} />}
    </button>
  );
  return refused ? <Tip text={refused}>{button}</Tip> : button;
}

type IconButtonProps = Omit<ComponentPropsWithRef<"button">, "children" | "aria-label"> & {
  icon: LucideIcon;
  /** Name for readers, and the tip. */
  label: string;
  size?: "sm" | "md";
  keys?: string;
  pressed?: boolean;
};

export function IconButton({
  icon: Icon,
  label,
  size = "md",
  keys,
  pressed,
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tip text={label} keys={keys}>
      <button
        type="button"
        {...rest}
        className={cn("icon-btn", size === "sm" && "is-sm", className)}
        aria-label={label}
        aria-pressed={pressed}
        aria-keyshortcuts={keys === undefined ? undefined : ariaKeys(keys)}
      >
        <Icon className={cn("icon", size === "sm" && "is-sm")} aria-hidden="true" />
      </button>
    </Tip>
  );
}
