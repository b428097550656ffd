/** Messages of the server: text in backticks is code, and a long end waits for a press. */

import { type ReactNode, useState } from "react";
import { count } from "./format";

/** What a message may have before the rest waits for a press: it then stays beside what it is about. */
const MOST = 600;

/** A text whose end waits for a press where it is very long. */
export function Long({
  text,
  most = MOST,
  show = (part) => part,
}: {
  text: string;
  most?: number;
  show?: (part: string) => ReactNode;
}) {
  const [whole, setWhole] = useState(false);
  if (whole || text.length <= most * 1.2) return show(text);
  return (
    <>
      {show(`${text.slice(0, most)}…`)}{" "}
      <button type="button" className="link" onClick={() => setWhole(true)}>
        Show all {count(text.length)} characters
      </button>
    </>
  );
}

/** A message of the server: what stands in backticks is code. */
export const Worded = ({ text }: { text: string }) => <Long text={text} show={spans} />;

/** A message in a row, which has one line. */
export const Line = ({ text }: { text: string }) => spans(text.slice(0, 300));

/** The same as `Worded` for what may be an element already. */
export const worded = (content: ReactNode): ReactNode =>
  typeof content === "string" ? <Worded text={content} /> : content;

/** Parts of a text: every second one stood in backticks. A lone backtick stays what it is. */
export function codeParts(text: string): string[] {
  const parts = text.split("`");
  if (parts.length % 2 === 0) {
    const lone = parts.pop() ?? "";
    parts.push(`${parts.pop() ?? ""}\`${lone}`);
  }
  return parts;
}

function spans(text: string): ReactNode {
  const parts = codeParts(text);
  if (parts.length === 1) return text;
  return parts.map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <code key={at} className="said-code">
        {part}
      </code>
    ),
  );
}
