/** Pages of ids, by their prefix. */

type Place = { href: string; kind: string };

const places: readonly [RegExp, string, string][] = [
  [/^run_[A-Za-z0-9]+$/, "/runs/", "run"],
  [/^p_[A-Za-z0-9]+$/, "/workflows/", "workflow"],
  [/^dc_[A-Za-z0-9]+$/, "/sources/", "source"],
  [/^sc_[A-Za-z0-9]+$/, "/components/", "component"],
  [/^wh_[A-Za-z0-9]+$/, "/webhooks/", "webhook"],
  [/^ds_[A-Za-z0-9]+$/, "/data/", "data store"],
  [/^rpl_[A-Za-z0-9]+$/, "/replays/", "replay"],
];

export function placeOfId(id: string): Place | null {
  for (const [pattern, path, kind] of places) {
    if (pattern.test(id)) return { href: `${path}${id}`, kind };
  }
  return null;
}
