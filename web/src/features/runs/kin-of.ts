/** Relatives of a run within its trace: the runs that it comes from and leads to. Pure. */

export type KinRun = {
  id: string;
  owner: string;
  name: string;
  /** Id of the emitter whose event started it: a source, a workflow, or an interface of its own. */
  trigger: string;
  replayOf: string | undefined;
  at: number;
};

/** The newest run of the emitter before it, and the runs that were started by events of its owner until it ran again. */
export function kinOf(
  id: string,
  trace: readonly KinRun[],
): { cause: KinRun | undefined; caused: KinRun[] } {
  const all = trace.toSorted((one, other) => one.at - other.at);
  const run = all.find((each) => each.id === id);
  if (run === undefined) return { cause: undefined, caused: [] };
  const causeOf = (of: KinRun) =>
    all.findLast(({ id, owner, at }) => id !== of.id && owner === of.trigger && at <= of.at);
  const caused = all.filter((each) => each.id !== id && causeOf(each)?.id === id);
  return { cause: causeOf(run), caused };
}
