/** The bound of counts: the server counts no further, and a count beyond it says "or more". */
export const COUNTED_MAX = 1_000;
