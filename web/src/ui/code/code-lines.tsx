/** Excerpt of code, highlighted as the whole file is. */

import "./code.css";
import { useQuery } from "@tanstack/react-query";
import { cn } from "../cn";
import { highlighted, type Token } from "./highlight";

/** Lines of a whole file that are shown: their numbers from 1, how far they are moved left, and the place that is pointed at. */
export type Excerpt = {
  from: number;
  to: number;
  hot?: { line: number; column: number };
  indent: number;
};

/** An excerpt of code, highlighted as the whole file reads. Lines are wrapped: what is pointed at may stand at the end of a long one. */
export function CodeLines({ code, excerpt }: { code: string; excerpt: Excerpt }) {
  const { data: tokens } = useQuery({
    queryKey: ["highlight", code],
    queryFn: () => highlighted(code, "javascript"),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const plain = code.split("\n");
  const lines = [];
  // A file ends with a line break: behind it is no line.
  const last =
    plain[excerpt.to - 1] === "" && excerpt.to === plain.length ? excerpt.to - 1 : excerpt.to;
  for (let number = excerpt.from; number <= last; number += 1) {
    const hot = number === excerpt.hot?.line ? excerpt.hot : undefined;
    lines.push(
      <div key={number} className={cn("line", hot !== undefined && "is-hot")}>
        <span className="n" aria-hidden="true">
          {number}
        </span>
        <span className="t">
          <Tokens
            of={tokens?.[number - 1] ?? [{ text: plain[number - 1] ?? "", style: "" }]}
            indent={excerpt.indent}
            column={hot?.column}
          />
        </span>
      </div>,
    );
  }
  return (
    <figure className="lines" aria-label="Code">
      {lines}
    </figure>
  );
}

function Tokens({
  of,
  indent,
  column,
}: {
  of: readonly Token[];
  indent: number;
  /** From 1: the word that begins there is marked. */
  column: number | undefined;
}) {
  let end = 0;
  return of.map(({ text, style }, index) => {
    const start = end;
    end += text.length;
    const isHot = column !== undefined && start < column && column <= end;
    const before = text.slice(Math.max(0, indent - start), isHot ? column - 1 - start : undefined);
    const behind = isHot ? text.slice(column - 1 - start) : "";
    const word = /^[\w$]+|^./u.exec(behind)?.[0] ?? "";
    return (
      <span key={index} className={style}>
        {before}
        {word !== "" && <mark className="hot-at">{word}</mark>}
        {behind.slice(word.length)}
      </span>
    );
  });
}
