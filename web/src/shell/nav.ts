/** The pages of the side bar, in their groups. */

import type { LinkProps } from "@tanstack/react-router";
import {
  Blocks,
  Database,
  Ear,
  Gauge,
  KeyRound,
  ListTree,
  type LucideIcon,
  Mail,
  Map as MapIcon,
  OctagonAlert,
  Radio,
  RotateCcw,
  Settings,
  Users,
  Waves,
  Webhook,
} from "lucide-react";
import type { ShortcutId } from "./shortcuts";

export type Place = {
  to: NonNullable<LinkProps["to"]>;
  label: string;
  icon: LucideIcon;
  shortcut?: ShortcutId;
  /** Pages of its own kind that the side bar does not show. */
  holds?: readonly string[];
  /** Words that find it in the palette. */
  also?: string;
};

export const groups: readonly { head: string; places: readonly Place[] }[] = [
  {
    head: "Watch",
    places: [
      { to: "/", label: "Home", icon: Gauge, shortcut: "home", holds: ["/map", "/mail"] },
      {
        to: "/runs",
        label: "Runs",
        icon: Waves,
        shortcut: "runs",
        holds: ["/replays"],
        also: "history executions",
      },
      { to: "/errors", label: "Errors", icon: OctagonAlert, shortcut: "errors", also: "failed" },
    ],
  },
  {
    head: "Build",
    places: [
      {
        to: "/workflows",
        label: "Workflows",
        icon: ListTree,
        shortcut: "workflows",
        also: "builder steps",
      },
      { to: "/sources", label: "Sources", icon: Radio, shortcut: "sources", also: "triggers" },
      {
        to: "/components",
        label: "Components",
        icon: Blocks,
        holds: ["/registries"],
        also: "registry actions code",
      },
    ],
  },
  {
    head: "Connect",
    places: [
      {
        to: "/accounts",
        label: "Accounts",
        icon: KeyRound,
        shortcut: "accounts",
        holds: ["/apps"],
        also: "apps oauth",
      },
      {
        to: "/listeners",
        label: "Listeners",
        icon: Ear,
        holds: ["/webhooks"],
        also: "subscriptions",
      },
      {
        to: "/data",
        label: "Data",
        icon: Database,
        shortcut: "data",
        holds: ["/files"],
        also: "stores files",
      },
    ],
  },
  {
    head: "",
    places: [{ to: "/settings", label: "Settings", icon: Settings, also: "organization" }],
  },
];

/** Pages that the palette finds and the side bar does not show. */
export const more: readonly Place[] = [
  { to: "/workflows/new", label: "New workflow", icon: ListTree, also: "create build" },
  { to: "/sources/new", label: "New source", icon: Radio, also: "deploy create" },
  { to: "/map", label: "Map", icon: MapIcon, also: "flow graph overview wheels" },
  { to: "/webhooks", label: "Webhooks", icon: Webhook, also: "deliveries dead letters" },
  { to: "/registries", label: "Registries", icon: Blocks },
  { to: "/replays", label: "Replays", icon: RotateCcw, also: "bulk again" },
  { to: "/apps", label: "Apps", icon: KeyRound, also: "oauth client integrations" },
  { to: "/mail", label: "Mail", icon: Mail, also: "outbox smtp" },
  { to: "/settings/members", label: "Members", icon: Users, also: "invite people roles" },
  { to: "/settings/sessions", label: "Your sessions", icon: Users, also: "password sign out" },
  { to: "/settings/keys", label: "API keys", icon: KeyRound },
  { to: "/settings/oauth-clients", label: "OAuth clients", icon: KeyRound },
  { to: "/settings/domains", label: "Domains", icon: Settings },
  {
    to: "/settings/system",
    label: "System",
    icon: Settings,
    also: "server version disk walls node",
  },
  { to: "/settings/audit", label: "Audit log", icon: Settings, also: "who changed what" },
];

/** Whether a page is one of those that a place holds. */
export const isHeldBy = ({ holds = [] }: Place, pathname: string): boolean =>
  holds.some((each) => pathname === each || pathname.startsWith(`${each}/`));

const isAbove = ({ to }: Place, pathname: string): boolean =>
  pathname === to || (to !== "/" && pathname.startsWith(`${to}/`));

/** Whether a bar marks a place on a page. */
export const isMarkedOn = (place: Place, pathname: string): boolean =>
  isAbove(place, pathname) || isHeldBy(place, pathname);

/** The list that an address is below; where it has none of its own, the place of the side bar that holds it. */
export function placeAt(pathname: string): Place | undefined {
  const places = groups.flatMap((group) => group.places);
  return (
    [...places, ...more].find((place) => isAbove(place, pathname)) ??
    places.find((place) => isHeldBy(place, pathname))
  );
}
