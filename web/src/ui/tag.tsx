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

const segmenter = new Intl.Segmenter();
/** The first two letters: a name may be long. */
function firstLetters(text: string): string[] {
  const [one, two] = segmenter.segment(text);
  return [one, two].flatMap((each) => each?.segment ?? []);
}

/** Letters of which a tile has room for one. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

/** First letters of the first two words, or the first two of one; a wide letter stands alone. */
export function monogram(name: string): string {
  const words = name.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== "");
  const [first, second = ""] = words.slice(0, 2).map(firstLetters);
  if (first === undefined) return firstLetters(name.trim())[0] ?? "?";
  const [one = "", two = ""] = second === "" ? first : [first[0], second[0]];
  return WIDE.test(one + two) ? one : one.toUpperCase() + two.toLowerCase();
}

export function hueOf(name: string): number {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return hash % 360;
}
