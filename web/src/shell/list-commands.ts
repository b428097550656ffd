/** Commands of lists, Home and settings: by which they are read, and a source is deployed. Pure. */

import type { Command } from "./as-command";
import { type CommandLine, curlOf, line } from "./command-line";

type Search = Readonly<Record<string, unknown>>;

const textIn = (search: Search, name: string): string | undefined => {
  const value = search[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

const cli = (text: CommandLine): Command => ({ name: "Command line", text });
const get = (path: string, query: Readonly<Record<string, string>> = {}): Command => ({
  name: "curl",
  text: curlOf("GET", path.split("/"), { query }),
});

const COMMANDS: Readonly<Record<string, (search: Search) => Command[]>> = {
  "/": () => [
    cli(line`millrace errors --groups\nmillrace list`),
    { name: "curl, runs of the last day", text: curlOf("GET", ["stats", "runs"]) },
    { name: "curl, newest runs", text: curlOf("GET", ["runs"]) },
  ],
  "/accounts": () => [cli(line`millrace accounts list`), get("accounts")],
  "/apps": (search) => {
    const q = textIn(search, "q");
    if (q === undefined) return [get("apps")];
    return [cli(line`millrace apps ${q}`), get("apps", { q })];
  },
  "/components": () => [cli(line`millrace list components`), get("components")],
  "/data": () => [
    cli(line`millrace data-stores list\nmillrace files list`),
    get("data_stores"),
    { name: "curl, file stores", text: curlOf("GET", ["file_stores"]) },
  ],
  "/listeners": () => [
    cli(line`millrace subscriptions list`),
    get("users/me/subscriptions"),
    { name: "curl, automatic ones", text: curlOf("GET", ["auto_subscriptions"]) },
  ],
  "/mail": () => [cli(line`millrace mail`), get("mail")],
  "/map": () => [
    cli(line`millrace list\nmillrace subscriptions list`),
    get("users/me/subscriptions"),
  ],
  "/registries": () => [cli(line`millrace registry list`), get("registries")],
  "/replays": () => [cli(line`millrace replays list`), get("replays")],
  "/runs/compare": (search) =>
    [...new Set([textIn(search, "a"), textIn(search, "b")])]
      .filter((id) => id !== undefined)
      .flatMap((id) => [cli(line`millrace runs show ${id}`), get(`runs/${id}`)]),
  "/settings": () => [cli(line`millrace organization`), get("users/me")],
  "/settings/audit": () => [cli(line`millrace audit`), get("audit")],
  "/settings/domains": () => [get("domains")],
  "/settings/keys": () => [cli(line`millrace keys list`), get("api_keys")],
  "/settings/members": () => [get("members")],
  "/settings/oauth-clients": () => [cli(line`millrace oauth-clients list`), get("oauth/clients")],
  "/settings/system": () => [cli(line`millrace system`), get("system")],
  "/sources": (search) => {
    const [key, url] = [textIn(search, "key"), textIn(search, "url")];
    const component = textIn(search, "component");
    const named = key ?? url ?? component;
    if (search.action !== "create" || named === undefined) {
      return [cli(line`millrace list sources`), get("sources")];
    }
    const code =
      key !== undefined
        ? { key }
        : url !== undefined
          ? { component_url: url }
          : { component_id: component };
    return [
      cli(line`millrace deploy ${named}`),
      {
        name: "curl, with the values of its fields",
        text: curlOf("POST", ["sources"], { body: { ...code, configured_props: {} } }),
      },
    ];
  },
  "/sources/new": () => [
    cli(line`millrace registry search ${"new rows"}\nmillrace deploy KEY`),
    {
      name: "curl",
      text: curlOf("GET", ["components", "search"], {
        query: { type: "source", query: "new rows" },
      }),
    },
  ],
  "/webhooks": () => [cli(line`millrace webhooks list`), get("webhooks")],
  "/workflows": () => [cli(line`millrace workflows list`), get("workflows")],
  "/workflows/new": () => [
    cli(line`millrace workflows init my-workflow\nmillrace workflows deploy my-workflow`),
    {
      name: "curl",
      text: curlOf("POST", ["workflows"], {
        body: { name: "My workflow", triggers: [], steps: [] },
      }),
    },
  ],
};

export const pagesWithCommands: readonly string[] = Object.keys(COMMANDS);

export function commandsOf(pathname: string, search: Search): Command[] {
  return COMMANDS[pathname]?.(search) ?? [];
}
