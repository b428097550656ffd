/** Scale and axis of the chart of runs; pure. */

/** The smallest of 1, 2 or 5 times a power of ten that is not below the value, even where it is halved on the axis. */
export function niceTop(most: number): number {
  if (most <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(most));
  for (const step of [1, 2, 4, 5, 10]) {
    const top = step * power;
    if (top >= most && top % 2 === 0) return top;
  }
  return 20 * power;
}

/** Heights of both sides of an axis, and what stands at their ends; `bottom` is absent where the low side has its usual height. */
export type Sides = { up: number; down: number; top: number; bottom?: number };

/** One scale for what is above the axis and below it: the low side takes more than a quarter only where it needs it. */
export function sidesOf(most: number, mostBelow: number, height: number): Sides {
  const top = niceTop(most);
  const up = (height * 3) / 4;
  if ((mostBelow * up) / top <= height - up) return { up, down: height - up, top };
  const bottom = niceTop(mostBelow);
  const unit = height / (top + bottom);
  return { up: top * unit, down: bottom * unit, top, bottom };
}

export type Tick = { at: number; share: number };

/** Times of the axis, evenly apart and whole: some six of them, none at the very edges. */
export function ticksOf(from: number, to: number, offset: number): Tick[] {
  const minute = 60_000;
  const steps = [1, 2, 5, 10, 15, 30, 60, 180, 240, 360, 720, 1_440, 2_880].map((n) => n * minute);
  const span = to - from;
  const step = steps.find((each) => span / each <= 7) ?? span;
  const ticks: Tick[] = [];
  // Whole in the reader's zone, which is `offset` from UTC.
  for (let at = Math.ceil((from + offset) / step) * step - offset; at < to; at += step) {
    const share = (at - from) / span;
    if (share > 0.03 && share < 0.97) ticks.push({ at, share });
  }
  return ticks;
}
