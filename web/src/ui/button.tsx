/** Button and icon button, what locks them, and the look that links share with them. */

import "./button.css";
import type { LucideIcon } from "lucide-react";
import { Lock } from "lucide-react";
import type { ComponentPropsWithRef } from "react";
import { cn } from "./cn";
import { ariaKeys, Keys } from "./keys";
import { Glyph } from "./status";
import { Tip } from "./tip";

/** `text`: a link in a line of words. */
export type Look = "normal" | "primary" | "quiet" | "danger" | "text";

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

type PlainProps = Omit<ComponentPropsWithRef<"button">, "disabled"> & {
  /** Not to be pressed for now, for a reason that is shown elsewhere. */
  stopped?: boolean;
  /** Why the button cannot be pressed; it stays in the order of focus and says so. */
  refused?: string | undefined;
};

/** Attributes of a locked control: a reader hears the reason, which others read in a tip. */
export function lockOf(refused: string | undefined) {
  return refused ? { "aria-disabled": true, "aria-description": refused } : {};
}

/** Button without a look: what looks like a row or a card. */
export function PlainButton({ stopped = false, refused, onClick, ...rest }: PlainProps) {
  const isLocked = stopped || Boolean(refused);
  const button = (
    <button
      type="button"
      {...rest}
      aria-disabled={isLocked || undefined}
      {...lockOf(refused)}
      onClick={(event) => {
        if (isLocked) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
  return refused ? <Tip text={refused}>{button}</Tip> : button;
}

type ButtonProps = Omit<PlainProps, "stopped"> &
  ButtonLook & {
    /** What is under way, such as "Deploying…"; the button cannot be pressed meanwhile. */
    busy?: string | false | undefined;
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
  ...rest
}: ButtonProps) {
  const isBusy = Boolean(busy);
  return (
    <PlainButton
      {...rest}
      stopped={isBusy}
      refused={refused}
      className={cn(buttonClass({ look, size, wide }), isBusy && "is-busy", className)}
      aria-keyshortcuts={keys === undefined ? undefined : ariaKeys(keys)}
    >
      {busy ? (
        <Glyph status="running" />
      ) : refused ? (
        <Lock className="icon" aria-hidden="true" />
      ) : (
        Icon !== undefined && <Icon className="icon" aria-hidden="true" />
      )}
      {busy || children}
      {keys !== undefined && !isBusy && !refused && <Keys of={keys} />}
    </PlainButton>
  );
}

type IconButtonProps = Omit<ComponentPropsWithRef<"button">, "children" | "aria-label"> & {
  icon: LucideIcon;
  /** Name for readers, and the tip. */
  label: string;
  size?: "sm" | "md";
  keys?: string;
  pressed?: boolean;
  /** Why the button cannot be pressed; the tip says it after the name. */
  refused?: string | undefined;
};

export function IconButton({
  icon: Icon,
  label,
  size = "md",
  keys,
  pressed,
  refused,
  className,
  onClick,
  ...rest
}: IconButtonProps) {
  return (
    <Tip text={refused ? `${label}. ${refused}` : label} keys={refused ? undefined : keys}>
      <button
        type="button"
        {...rest}
        {...lockOf(refused)}
        onClick={refused ? undefined : onClick}
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
