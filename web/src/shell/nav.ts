/** The pages of the side bar, in their groups. */

import type { LinkProps } from "@tanstack/react-router";
import { Gauge, type LucideIcon, OctagonAlert, Radio, Waves } from "lucide-react";
import type { ShortcutId } from "./shortcuts";

export type Place = {
  to: NonNullable<LinkProps["to"]>;
  label: string;
  icon: LucideIcon;
  shortcut?: ShortcutId;
  /** Words that find it in the palette. */
  also?: string;
};

export const groups: readonly { head: string; places: readonly Place[] }[] = [
  {
    head: "Watch",
    places: [
      { to: "/", label: "Home", icon: Gauge, shortcut: "home" },
      { to: "/runs", label: "Runs", icon: Waves, shortcut: "runs", also: "history executions" },
      { to: "/errors", label: "Errors", icon: OctagonAlert, shortcut: "errors" },
    ],
  },
  {
    head: "Build",
    places: [
      { to: "/sources", label: "Sources", icon: Radio, shortcut: "sources", also: "triggers" },
    ],
  },
];
