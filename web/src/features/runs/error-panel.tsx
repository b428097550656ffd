/**
 * Panel of a run's error: class, message, line of the author's code, frames, and differences from
 * the last run that succeeded.
 */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { client, data } from "~/api/client";
import type { RunDetail, RunError } from "~/api/runs";
import { commonIndent, type Frame, framesOf, linesAround, ownFrame } from "~/api/stack";
import { exactText } from "~/json/exact";
import { CodeLines } from "~/ui/code/code-lines";
import { shortId } from "~/ui/format";
import { When } from "~/ui/time";
import { Worded } from "~/ui/worded";
import { differencesOf } from "./differs";
import type { PlannedStep } from "./queries";
import { RefusedDoors } from "./refused-door";

export function ErrorPanel({
  run,
  error,
  step,
  seen,
}: {
  run: RunDetail;
  error: RunError;
  step: PlannedStep | undefined;
  /** How often it came before, where that does not stand beside it. */
  seen?: ReactNode;
}) {
  const frames = framesOf(error.stack);
  const own = ownFrame(frames);
  const code = own === undefined ? undefined : codeOf(step, own.file);
  const lines = own === undefined || code === undefined ? [] : linesAround(code, own.line);
  const first = lines[0];
  const last = lines.at(-1);
  const shown = frames.filter(({ foreign }) => !foreign);
  const folded = frames.filter(({ foreign }) => foreign);
  return (
    <div className="in-order">
      <div className="error-head">
        <p className="error-class">{error.code}</p>
        <p className="error-message">
          {error.message === "" ? (
            <span className="dim">The error has no message.</span>
          ) : (
            <Worded text={error.message} />
          )}
        </p>
        {seen}
      </div>
      {own !== undefined && code !== undefined && first !== undefined && last !== undefined && (
        <figure className="frame">
          <figcaption>
            <span className="mono">
              {own.file}
              <span className="dim">
                :{own.line}:{own.column}
              </span>
            </span>
            <span className="grow" />
            <ToDraft run={run} step={step} frame={own}>
              Open this line in the draft
            </ToDraft>
          </figcaption>
          <CodeLines
            code={code}
            excerpt={{
              from: first.number,
              to: last.number,
              hot: own,
              indent: commonIndent(code, own.line),
            }}
          />
        </figure>
      )}
      <RefusedDoors run={run} />
      <Differs run={run} />
      {frames.length > 0 ? (
        <ul className="frames code">
          {shown.map((frame, index) => (
            <li key={index}>
              <span className="cut">{frame.name || "(top)"}</span>
              <span>
                {frame.file}:
                <ToDraft
                  run={run}
                  step={step}
                  frame={frame}
                  fallback={`${frame.line}:${frame.column}`}
                >
                  {frame.line}:{frame.column}
                </ToDraft>
              </span>
            </li>
          ))}
          {folded.length > 0 && (
            <li style={{ display: "block" }}>
              <details>
                <summary className="small">
                  {folded.length} {folded.length === 1 ? "frame" : "frames"} in packages and the
                  runtime
                </summary>
                <ul>
                  {folded.map((frame, index) => (
                    <li key={index} className="dim wrap">
                      {frame.name} {frame.file}:{frame.line}:{frame.column}
                    </li>
                  ))}
                </ul>
              </details>
            </li>
          )}
        </ul>
      ) : (
        error.stack !== "" && <pre className="step-note code wrap">{error.stack}</pre>
      )}
    </div>
  );
}

/** A line of the step's own code leads to the same line of the draft, with this event at hand. */
function ToDraft({
  run,
  step,
  frame,
  fallback = null,
  children,
}: {
  run: RunDetail;
  step: PlannedStep | undefined;
  frame: Frame;
  /** Where the line is of other code. */
  fallback?: ReactNode;
  children: ReactNode;
}) {
  const isOfStep =
    step !== undefined && (frame.file === step.entry || frame.file.endsWith(`/${step.entry}`));
  if (!run.isWorkflow || !isOfStep) return fallback;
  return (
    <Link
      to="/workflows/$id/edit"
      params={{ id: run.ownerId }}
      search={{ run: run.id, step: step.name, line: frame.line }}
      className="link small"
    >
      {children}
    </Link>
  );
}

function codeOf(step: PlannedStep | undefined, file: string): string | undefined {
  if (step === undefined) return undefined;
  return step.files[file] ?? (file.endsWith(`/${step.entry}`) ? step.code : undefined);
}

const signs = { gone: "−", added: "+", changed: "~" } as const;
const signWords = { gone: "gone", added: "new", changed: "changed" } as const;

/** The event beside that of the last run of the same owner that succeeded. */
function Differs({ run }: { run: RunDetail }) {
  const { data: passed, isPending } = useQuery({
    queryKey: ["last-passed", run.ownerId, run.id],
    queryFn: async ({ signal }) => {
      // Of all runs: where the owner is gone, its runs are still there.
      const query = {
        owner_id: run.ownerId,
        status: "succeeded",
        to: run.acceptedAt,
        limit: 1,
        include: "id,event,created_at_ms",
      } as const;
      const found = await data(client.GET("/v1/runs", { params: { query }, signal }));
      return found[0] ?? null;
    },
    staleTime: 60_000,
  });
  if (isPending) return <div aria-busy="true" />;
  if (passed === undefined || passed === null) return null;
  const found = differencesOf(passed.event, run.event);
  if (found.length === 0) return null;
  return (
    <section className="differs" aria-labelledby="differs">
      <h3 id="differs">What changed</h3>
      <span className="small dim">
        in the event, compared with{" "}
        <Link to="/runs/$id" params={{ id: passed.id }} className="link mono">
          {shortId(passed.id)}
        </Link>
        , the last successful run (<When at={passed.created_at_ms} />)
      </span>
      <ul className="code" tabIndex={0} aria-labelledby="differs">
        {found.map(({ kind, path, before, after }) => (
          <li key={kind + path} className={`is-${kind}`}>
            <span>
              <span aria-hidden="true">{signs[kind]}</span>
              <span className="sr">{signWords[kind]}</span>
            </span>
            <span>
              {path}
              {kind === "changed" && (
                <span className="dim">
                  {" "}
                  {short(before)} to {short(after)}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function short(value: unknown): string {
  const text = exactText(value) ?? "";
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
