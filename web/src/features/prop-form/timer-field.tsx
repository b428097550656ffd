/** Field of a timer: an interval or a cron line, with its meaning in words. */

import { useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { sentence } from "~/api/errors";
import { isObject, numberOf, textOf } from "~/api/json";
import type { PropDef } from "~/api/props";
import { nextTimesQuery, type Schedule } from "~/api/schedules";
import { cronWordsQuery } from "~/shell/cron-words";
import { Combobox } from "~/ui/combobox";
import { type ControlProps, Message } from "~/ui/field";
import { every } from "~/ui/format";
import { Segments } from "~/ui/pane";
import { Select } from "~/ui/select";
import { partsOf } from "./timer-times";
import type { PropForm } from "./use-prop-form";

type Props = { form: PropForm; prop: PropDef; control: ControlProps };

const UNITS = [
  ["seconds", 1],
  ["minutes", 60],
  ["hours", 3_600],
  ["days", 86_400],
] as const;

const zones = Intl.supportedValuesOf("timeZone");
const here = new Intl.DateTimeFormat().resolvedOptions().timeZone;

const zoneItems = [...new Set(["UTC", here, ...zones])].map((zone) => ({ key: zone, label: zone }));

type Timer = { cron: string | undefined; zone: string; seconds: number | undefined };

function timerOf(value: unknown): Timer {
  const given = isObject(value) ? value : {};
  return {
    cron: textOf(given.cron),
    zone: textOf(given.timezone) ?? (textOf(given.cron) === undefined ? here : "UTC"),
    seconds: numberOf(given.intervalSeconds ?? given.interval_seconds),
  };
}

/** The largest unit that the seconds are whole numbers of. */
export function unitOf(seconds: number): (typeof UNITS)[number] {
  return UNITS.findLast(([, size]) => seconds >= size && seconds % size === 0) ?? UNITS[0];
}

/** Every so often, or by cron: with what that means in words. */
export function TimerField({ form, prop, control }: Props) {
  const draft = form.drafts[prop.name];
  const timer = timerOf(draft?.kind === "value" ? draft.value : undefined);
  const mode = timer.cron === undefined ? "every" : "cron";
  const set = (value: unknown) => form.set(prop.name, { kind: "value", value });
  const [unit, size] = unitOf(timer.seconds ?? 900);
  return (
    <>
      <div className={`timer is-${mode}`}>
        <Segments
          label="Timer type"
          value={mode}
          onChange={(next) => {
            form.choose(prop.name, {
              kind: "value",
              value:
                next === "cron"
                  ? { cron: timer.cron ?? "0 9 * * 1-5", timezone: timer.zone }
                  : { intervalSeconds: timer.seconds ?? 900 },
            });
          }}
          choices={[
            ["every", "Every"],
            ["cron", "Cron"],
          ]}
        />
        {mode === "every" ? (
          <>
            <input
              {...control}
              className="input"
              inputMode="numeric"
              value={timer.seconds === undefined ? "" : String(timer.seconds / size)}
              onChange={(event) => {
                const number = Number(event.target.value);
                set(
                  Number.isFinite(number) && event.target.value !== ""
                    ? { intervalSeconds: Math.round(number * size) }
                    : {},
                );
              }}
              onBlur={() => form.commit(prop.name)}
            />
            <Select
              aria-label="Unit"
              value={unit}
              onChange={(name) => {
                const next = UNITS.find(([each]) => each === name) ?? UNITS[0];
                const number = (timer.seconds ?? size) / size;
                form.choose(prop.name, {
                  kind: "value",
                  value: { intervalSeconds: Math.max(1, number) * next[1] },
                });
              }}
              choices={UNITS.map(([name]) => ({ value: name, label: name }))}
            />
          </>
        ) : (
          <>
            <input
              {...control}
              className="input is-mono"
              autoComplete="off"
              spellCheck={false}
              value={timer.cron}
              onChange={(event) => set({ cron: event.target.value, timezone: timer.zone })}
              onBlur={() => form.commit(prop.name)}
            />
            <Combobox
              aria-label="Time zone"
              value={{ key: timer.zone, label: timer.zone }}
              onChange={(item) => {
                if (item === null) return;
                const value = { cron: timer.cron, timezone: item.key };
                form.choose(prop.name, { kind: "value", value });
              }}
              items={zoneItems}
            />
          </>
        )}
      </div>
      {mode === "every" ? (
        timer.seconds === undefined ? (
          <Message error="Enter how often it ticks." />
        ) : (
          <>
            <Message hint={`Ticks ${every(timer.seconds)}.`} />
            <NextTimes schedule={{ seconds: timer.seconds }} zone={here} owner={form.target} />
          </>
        )
      ) : (
        <CronWords cron={timer.cron ?? ""} zone={timer.zone} owner={form.target} />
      )}
    </>
  );
}

/** The next five times, as the server counts them: also where clocks change. */
function NextTimes({ schedule, zone, owner }: { schedule: Schedule; zone: string; owner: string }) {
  const typed = useDeferredValue("cron" in schedule ? schedule.cron : schedule.seconds);
  const asked = typeof typed === "string" ? { cron: typed, zone } : { seconds: typed };
  const { data, error } = useQuery(nextTimesQuery(asked, owner));
  if (error !== null) return <Message error={sentence(error)} />;
  if (data === undefined) return null;
  if (data.length === 0) return <Message error="It never ticks: no date matches." />;
  const { showsYear, showsSeconds } = partsOf(data, zone);
  const times = new Intl.DateTimeFormat("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    ...(showsYear ? { year: "numeric" } : {}),
    ...(showsSeconds ? { second: "2-digit" } : {}),
    timeZone: zone,
  });
  return (
    <ol className="next-times small dim num" aria-label={`Next runs, in ${zone}`}>
      {data.map((at) => (
        <li key={at}>{times.format(at)}</li>
      ))}
    </ol>
  );
}

/** What is wrong with a line is for the server to say: it reads more than the library that spells lines. */
function CronWords({ cron, zone, owner }: { cron: string; zone: string; owner: string }) {
  const { data } = useQuery(cronWordsQuery(cron));
  if (cron.trim() === "") return <Message error="Enter a cron expression, such as 0 9 * * 1-5." />;
  return (
    <>
      {data?.words !== undefined && <Message hint={`${data.words}, in ${zone}.`} />}
      <NextTimes schedule={{ cron, zone }} zone={zone} owner={owner} />
    </>
  );
}
