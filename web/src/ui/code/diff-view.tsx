import "./code.css";
import { useQuery } from "@tanstack/react-query";
import { plural } from "../format";
import { differenceOf } from "./diff";

/** A unified difference: two columns of numbers, sign, tint and marked words. */
export function DiffView({
  before,
  after,
  label,
}: {
  before: string;
  after: string;
  label: string;
}) {
  const { data: lines } = useQuery({
    queryKey: ["diff", before, after],
    queryFn: () => differenceOf(before, after),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (lines === undefined) return null;
  if (lines.length === 0) return <p className="step-note">No difference.</p>;
  return (
    <figure className="lines is-diff" aria-label={label} tabIndex={0}>
      {lines.map((line, index) =>
        line.kind === "fold" ? (
          <div key={index} className="is-fold">
            {plural(line.count, "line")} the same
          </div>
        ) : (
          <div key={index} className={line.kind === "same" ? "line" : `line is-${line.kind}`}>
            <span className="n">{line.before}</span>
            <span className="n">{line.after}</span>
            <span className="s">{line.kind === "del" ? "−" : line.kind === "add" ? "+" : ""}</span>
            <span className="t">
              {line.pieces.map((piece, at) =>
                piece.marked ? <mark key={at}>{piece.text}</mark> : piece.text,
              )}
            </span>
          </div>
        ),
      )}
    </figure>
  );
}
