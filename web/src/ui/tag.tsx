/** Tags, states and tiles with the letters of a name. */

import "./tag.css";
import type { CSSProperties, ReactNode } from "react";
import { cn } from "./cn";

/** A version, a key or another short word in the machine's spelling. */
export function Tag({ kind, children }: { kind?: "live" | "draft"; children: ReactNode }) {
  return <span className={cn("tag", kind !== undefined && `is-${kind}`)}>{children}</span>;
}

/** A state that is no status of a run: "New today", "Ignored". */
export function State({ kind, children }: { kind?: "alarm" | "warn"; children: ReactNode }) {
  return <span className={cn("state", kind !== undefined && `is-${kind}`)}>{children}</span>;
}

/** Two letters on a hue of the name: what stands for an app, a source or a workflow. */
export function Tile({ name, size }: { name: string; size?: "xs" | "lg" }) {
  const hue: CSSProperties & Record<"--tile-hue", number> = { "--tile-hue": hueOf(name) };
  return (
    <span className={cn("tile", size !== undefined && `is-${size}`)} style={hue} aria-hidden="true">
      {monogram(name)}
    </span>
  );
}

/** First letters of the first two words, or the first two of one. */
export function monogram(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const [first = "?", second] = words;
  const letters = second === undefined ? first.slice(0, 2) : first.slice(0, 1) + second.slice(0, 1);
  return letters.slice(0, 1).toUpperCase() + letters.slice(1).toLowerCase();
}

export function hueOf(name: string): number {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return hash % 360;
}
