/** A run's error as Markdown, to be pasted into an issue. Values of secrets are masked by their names. */

import type { RunDetail } from "~/api/runs";
import { exactText } from "~/json/exact";
import { isContainer } from "~/ui/json/model";

const SECRET = /(pass(word)?|secret|token|api_?key|authorization|cookie|signature|credential)/i;
const LONGEST = 4_000;

export function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (!isContainer(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRET.test(name) && inner !== null ? "(masked)" : masked(inner),
    ]),
  );
}

export function issueText(run: RunDetail, address: string): string {
  const { error } = run;
  const event = exactText(masked(run.event), 2) ?? "";
  const parts = [
    `## ${error?.code ?? run.status}: ${error?.message.split("\n")[0] ?? ""}`,
    [
      `- Run: [\`${run.id}\`](${address})`,
      `- ${run.isWorkflow ? "Workflow" : "Source"}: ${run.ownerName ?? run.ownerId}`,
      ...(error?.step === undefined ? [] : [`- Step: \`${error.step}\``]),
      `- Accepted: ${new Date(run.acceptedAt).toISOString()}`,
    ].join("\n"),
    error === undefined ? "" : `\`\`\`\n${error.stack || error.message}\n\`\`\``,
    `<details><summary>Event</summary>\n\n\`\`\`json\n${event.slice(0, LONGEST)}${event.length > LONGEST ? "\n…" : ""}\n\`\`\`\n</details>`,
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}
