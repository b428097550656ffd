import "./code.css";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { cn } from "../cn";
import { highlighted, type Token } from "./highlight";

/** Lines of a whole file that are shown: their numbers from 1, and how far they are moved left. */
export type Excerpt = { from: number; to: number; hot?: number; indent: number };

/** An excerpt of code, highlighted as the whole file reads; below the hot line stands what is said of it. */
export function CodeLines({
  code,
  excerpt,
  language = "javascript",
  note,
}: {
  code: string;
  excerpt: Excerpt;
  language?: "javascript" | "json";
  note?: ReactNode;
}) {
  const { data: tokens } = useQuery({
    queryKey: ["highlight", language, code],
    queryFn: () => highlighted(code, language),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const plain = code.split("\n");
  const lines = [];
  // A file ends with a line break: behind it is no line.
  const last =
    plain[excerpt.to - 1] === "" && excerpt.to === plain.length ? excerpt.to - 1 : excerpt.to;
  for (let number = excerpt.from; number <= last; number += 1) {
    const hot = number === excerpt.hot;
    lines.push(
      <div key={number} className={cn("line", hot && "is-hot")}>
        <span className="n" aria-hidden="true">
          {number}
        </span>
        <span className="t">
          <Tokens
            of={tokens?.[number - 1] ?? [{ text: plain[number - 1] ?? "", style: "" }]}
            indent={excerpt.indent}
          />
          {hot && note}
        </span>
      </div>,
    );
  }
  return (
    <figure className="lines" aria-label="Code" tabIndex={0}>
      {lines}
    </figure>
  );
}

function Tokens({ of, indent }: { of: readonly Token[]; indent: number }) {
  let left = indent;
  return of.map(({ text, style }, index) => {
    const cut = Math.min(left, text.length);
    left -= cut;
    const shown = text.slice(cut);
    return style === "" ? (
      shown
    ) : (
      <span key={index} className={style}>
        {shown}
      </span>
    );
  });
}
