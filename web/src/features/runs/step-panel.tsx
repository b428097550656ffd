/** The chosen step of a run: error, input, exports, log, sends, code. */

import { Tabs } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import type { LogRecord, RunDetail, StepRecord } from "~/api/runs";
import type { Delivery } from "~/api/schema";
import { EventInspector } from "~/shell/event-inspector";
import { Editor } from "~/ui/code/editor";
import { count, duration } from "~/ui/format";
import { JsonInspector } from "~/ui/json/json-inspector";
import { useKeys } from "~/ui/keyboard";
import { Log } from "~/ui/log";
import { Glyph } from "~/ui/status";
import { ErrorPanel } from "./error-panel";
import type { PlannedStep } from "./queries";
import { SeenBefore } from "./seen-before";
import type { Tab } from "./tabs";
import { WouldSendList } from "./would-send";

type Shown = { tab: Tab; name: string; n?: number; content: ReactNode };

export function StepPanel({
  run,
  stepKey,
  plan,
  tab,
  onTab,
  bare = false,
}: {
  run: RunDetail;
  stepKey: string;
  plan: readonly PlannedStep[];
  tab: Tab | undefined;
  onTab: (tab: Tab) => void;
  /** Without the head and the code: both stand beside it. */
  bare?: boolean;
}) {
  const all = tabsOf(run, stepKey, plan);
  const tabs = bare ? all.filter((each) => each.tab !== "code") : all;
  const of = (wanted: Tab | undefined) => tabs.find((each) => each.tab === wanted);
  // What a step left says more than what it was given.
  const shown = of(tab) ?? of("error") ?? of("exports") ?? tabs[0];
  const step = run.steps.find(({ name }) => name === stepKey);
  const planned = plan.find(({ name }) => name === stepKey);
  // Beside the builder they would be keys of the page.
  const keyed = bare
    ? []
    : tabs.map((each, at) => [String(at + 1), () => onTab(each.tab)] as const);
  useKeys(Object.fromEntries(keyed));
  return (
    <div className="step-panel">
      {!bare && (
        <div className="pane-head">
          <h2 className={stepKey.startsWith("$") ? "" : "mono"}>
            {stepKey === "$trigger" ? "Trigger" : stepKey === "$run" ? "Run" : stepKey}
          </h2>
          <span className="dim cut">{planned?.key ?? (planned === undefined ? "" : "code")}</span>
          {step?.durationMs !== undefined && (
            <span className="num end">{duration(step.durationMs)}</span>
          )}
        </div>
      )}
      {bare && run.exitReason !== undefined && run.steps.at(-1) === step && (
        <p className="step-note">
          It ended the run with <code className="mono">$.flow.exit</code>:{" "}
          {run.exitReason || "no reason given"}
        </p>
      )}
      {shown === undefined ? (
        <p className="step-note">{nothingOf(run, step)}</p>
      ) : (
        <Tabs.Root
          className="step-panel"
          value={shown.tab}
          onValueChange={(next) => {
            const found = tabs.find((each) => each.tab === next);
            if (found !== undefined) onTab(found.tab);
          }}
        >
          <Tabs.List className="tab-bar tabs">
            {tabs.map((each) => (
              <Tabs.Tab key={each.tab} value={each.tab} className="tab">
                {each.name}
                {each.n !== undefined && <span className="n">{count(each.n)}</span>}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel
            key={stepKey + shown.tab}
            value={shown.tab}
            className="step-panel"
            tabIndex={-1}
          >
            {shown.content}
          </Tabs.Panel>
        </Tabs.Root>
      )}
    </div>
  );
}

/** Why there is nothing to show of a step. */
function nothingOf(run: RunDetail, step: StepRecord | undefined): string {
  if (step?.status === "succeeded") return "No return value and no exports.";
  return run.exitReason !== undefined && step === undefined
    ? "It did not run: an earlier step ended the run."
    : "Nothing to show yet.";
}

function tabsOf(run: RunDetail, stepKey: string, plan: readonly PlannedStep[]): Shown[] {
  if (stepKey === "$trigger") {
    return [
      {
        tab: "exports",
        name: "Event",
        content: <EventInspector value={run.event} base="steps.trigger.event" label="Event" />,
      },
      {
        tab: "input",
        name: "Context",
        content: <JsonInspector value={run.context} base="steps.trigger.context" label="Context" />,
      },
    ];
  }
  const isSource = stepKey === "$run";
  const step = run.steps.find(({ name }) => name === stepKey);
  const planned = isSource ? plan[0] : plan.find(({ name }) => name === stepKey);
  const tabs: Shown[] = [];
  const failedHere = run.error !== undefined && (isSource || run.error.step === stepKey);
  if (run.error !== undefined && failedHere) {
    tabs.push({
      tab: "error",
      name: "Error",
      content: (
        <section className="scroll" tabIndex={0} aria-label="Error">
          <ErrorPanel
            run={run}
            error={run.error}
            step={planned}
            seen={<SeenBefore run={run} error={run.error} />}
          />
        </section>
      ),
    });
  }
  tabs.push(...inputOf(step, planned, "this"));
  if (step !== undefined && Object.keys(step.exports).length > 0) {
    tabs.push({
      tab: "exports",
      name: "Exports",
      content: (
        <JsonInspector
          value={step.exports}
          base={`steps.${stepKey}`}
          label={`Exports of ${stepKey}`}
        />
      ),
    });
  }
  const lines = logOf(run, stepKey);
  if (lines.length > 0) {
    tabs.push({
      tab: "log",
      name: "Logs",
      n: lines.length,
      content: <Log lines={lines} label={`Logs of ${stepKey}`} />,
    });
  }
  const sends = sendsOf(run, stepKey);
  if (sends.length > 0) {
    tabs.push({ tab: "sends", name: "Sends", n: sends.length, content: <Sends sends={sends} /> });
  }
  if (step !== undefined && step.wouldSend.length > 0) {
    tabs.push({
      tab: "sends",
      name: "Would send",
      n: step.wouldSend.length,
      content: <WouldSendList sends={step.wouldSend} />,
    });
  }
  if (planned !== undefined && planned.code !== "") {
    tabs.push({
      tab: "code",
      name: "Code",
      content: (
        <div className="scroll run-code">
          <Editor
            language="javascript"
            label={`Code of ${planned.name}`}
            value={planned.code}
            readOnly
            maxHeight="none"
          />
        </div>
      ),
    });
  }
  return tabs;
}

function inputOf(
  step: StepRecord | undefined,
  planned: PlannedStep | undefined,
  base: string,
): Shown[] {
  if (step?.props !== undefined) {
    return [
      {
        tab: "input",
        name: "Input",
        content: <JsonInspector value={step.props} base={base} label="Prop values" />,
      },
    ];
  }
  if (planned === undefined || isEmpty(planned.props)) return [];
  return [
    {
      tab: "input",
      name: "Props",
      content: <JsonInspector value={planned.props} base={base} label="Props as configured" />,
    },
  ];
}

function isEmpty(value: unknown): boolean {
  return typeof value !== "object" || value === null || Object.keys(value).length === 0;
}

/** Lines of the step; those that name none, such as of what a test left out, are at the last one. */
function logOf(run: RunDetail, stepKey: string): LogRecord[] {
  if (stepKey === "$run") return run.logs;
  const last = run.steps.at(-1)?.name ?? stepKey;
  return run.logs.filter(({ step }) => (step ?? last) === stepKey);
}

function sendsOf(run: RunDetail, stepKey: string): Delivery[] {
  if (stepKey === "$run") return run.deliveries;
  const last = run.steps.at(-1)?.name;
  // Runs of before steps were named have theirs at the last.
  return run.deliveries.filter(({ step }) => stepKey === (step ?? last));
}

function Sends({ sends }: { sends: readonly Delivery[] }) {
  return (
    <ul className="sends scroll">
      {sends.map((send) => (
        <li key={send.id}>
          <Glyph status={shapeOf(send.status)} />
          <span className="mono dim">{send.kind}</span>
          <span className="cut" title={send.target}>
            {send.target}
          </span>
          <span className="num mid">
            {send.response_status ?? send.status}
            {send.attempts > 1 && <span className="dim">, attempt {send.attempts}</span>}
          </span>
          {send.last_error !== null && <span className="small failed-text">{send.last_error}</span>}
        </li>
      ))}
    </ul>
  );
}

function shapeOf(status: string) {
  switch (status) {
    case "delivered":
    case "sent":
    case "succeeded":
      return "succeeded";
    case "failed":
      return "failed";
    default:
      return "queued";
  }
}
