/** List of what a step of a test gave to `$.send`: a run that is no test sends it. */

import type { StepRecord } from "~/api/runs";
import { exactText } from "~/json/exact";

type WouldSend = StepRecord["wouldSend"][number];

const kinds: Record<string, string> = {
  email: "E-mail to",
  http: "Request:",
  s3: "Object to",
  sse: "Server-sent event on",
  emit: "Event on",
};

/** "E-mail to ops@example.com", "Event on the default channel". */
export function wordsOf({ kind, target }: WouldSend): string {
  const isChannel = kind === "sse" || kind === "emit";
  const to = target === "" && isChannel ? "the default channel" : target;
  return `${kinds[kind] ?? kind} ${to}`.trim();
}

export function WouldSendList({ sends }: { sends: readonly WouldSend[] }) {
  return (
    <div className="scroll">
      <p className="step-note">A test sends nothing. A live run sends this when it finishes:</p>
      <ul className="would-send">
        {sends.map((send, at) => (
          <li key={at}>
            <details>
              <summary className="cut">{wordsOf(send)}</summary>
              <pre className="mono small">{exactText(send.payload, 2)}</pre>
            </details>
          </li>
        ))}
      </ul>
    </div>
  );
}
