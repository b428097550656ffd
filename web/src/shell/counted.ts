/** How far the server counts what a list has: beyond it, a count says "or more". */
export const COUNTED_MAX = 1_000;
