/** Time ranges of Home. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type RangeName = "hour" | "day" | "fortnight";

export type Range = {
  name: RangeName;
  /** On the button. */
  label: string;
  /** In sentences: "in the last hour". */
  says: string;
  /** What one bar stands for. */
  per: string;
  span: number;
  bucket: number;
};

const hour: Range = {
  name: "hour",
  label: "Last hour",
  says: "in the last hour",
  per: "minute",
  span: HOUR,
  bucket: MINUTE,
};

export const RANGES: readonly Range[] = [
  hour,
  {
    name: "day",
    label: "24 h",
    says: "in 24 hours",
    per: "half hour",
    span: DAY,
    bucket: 30 * MINUTE,
  },
  {
    name: "fortnight",
    label: "14 d",
    says: "in 14 days",
    per: "6 hours",
    span: 14 * DAY,
    bucket: 6 * HOUR,
  },
];

export function rangeOf(name: unknown): Range {
  return RANGES.find((range) => range.name === name) ?? hour;
}
