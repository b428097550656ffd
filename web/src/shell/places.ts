/** Pages of records by their kinds, each with its name and icon. */

import {
  Blocks,
  Database,
  GitCommitHorizontal,
  Globe,
  KeyRound,
  ListTree,
  type LucideIcon,
  OctagonAlert,
  Radio,
  RotateCcw,
  Users,
  Waves,
  Webhook,
} from "lucide-react";
import type { Named } from "~/api/schema";

type Kind = Named["kind"];

type Shown = { word: string; icon: LucideIcon; href: (id: string) => string };

const kinds: Record<Kind, Shown> = {
  workflow: { word: "workflow", icon: ListTree, href: (id) => `/workflows/${id}` },
  source: { word: "source", icon: Radio, href: (id) => `/sources/${id}` },
  component: { word: "component", icon: Blocks, href: (id) => `/components?q=${id}` },
  account: { word: "account", icon: KeyRound, href: (id) => `/accounts/${id}` },
  data_store: { word: "data store", icon: Database, href: (id) => `/data/${id}` },
  webhook: { word: "webhook", icon: Webhook, href: (id) => `/webhooks/${id}` },
  registry: { word: "registry", icon: Blocks, href: () => "/registries" },
  domain: { word: "domain", icon: Globe, href: () => "/settings/domains" },
  error_group: { word: "error", icon: OctagonAlert, href: (id) => `/errors/${id}` },
  member: { word: "member", icon: Users, href: () => "/settings/members" },
  run: { word: "run", icon: Waves, href: (id) => `/runs/${id}` },
  replay: { word: "replay", icon: RotateCcw, href: (id) => `/replays/${id}` },
  deployment: { word: "deployment", icon: GitCommitHorizontal, href: () => "/workflows" },
};

/** How a record that the server names is called and where it is. */
export function placeOf({ kind, id }: Pick<Named, "kind" | "id">): {
  word: string;
  icon: LucideIcon;
  href: string;
} {
  const { word, icon, href } = kinds[kind];
  return { word, icon, href: href(encodeURIComponent(id)) };
}
