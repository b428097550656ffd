/** Edited copies of events: the newest few of each workflow are kept in this browser, to be tested with again. */

import { isObject, listOf, numberOf } from "~/api/json";
import { exactText } from "~/json/exact";
import { keep, keptOf } from "~/shell/kept";
import { clock } from "~/ui/format";
import type { TestEvent } from "./test-event";

const SAMPLES_MAX = 5;

type Sample = { at: number; value: unknown };

const nameOf = (workflow: string) => `samples.${workflow}`;

const eventOf = ({ at, value }: Sample): TestEvent => ({
  id: `edited ${at}`,
  from: `Edited copy, ${clock(at)}`,
  value,
});

function read(workflow: string): Sample[] {
  return listOf(keptOf(nameOf(workflow))?.value).flatMap((each) => {
    const at = isObject(each) ? numberOf(each.at) : undefined;
    return isObject(each) && at !== undefined ? [{ at, value: each.value }] : [];
  });
}

/** The newest first. */
export function samplesOf(workflow: string): TestEvent[] {
  return read(workflow).map(eventOf);
}

/** Keeps an edited copy beside the last few; one that is too large is good for this visit alone. */
export function keepSample(workflow: string, value: unknown): TestEvent {
  const sample = { at: Date.now(), value };
  const text = exactText(value);
  const others = read(workflow).filter((each) => exactText(each.value) !== text);
  let all = [sample, ...others].slice(0, SAMPLES_MAX);
  while (all.length > 0 && keep(nameOf(workflow), all) === undefined) all = all.slice(0, -1);
  return eventOf(sample);
}
