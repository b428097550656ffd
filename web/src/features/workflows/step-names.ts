/** Names of steps: generator of free ones, and validation. Pure. */

/** A name that no step has yet: `code`, `code_2`, … */
export function freeName(steps: readonly { namespace: string }[], wish: string): string {
  const taken = new Set(steps.map(({ namespace }) => namespace));
  const base = wish.replaceAll(/[^A-Za-z0-9_]+/g, "_").replace(/^(\d|$)/, "step_$1");
  const free = base === "trigger" ? "step" : base.slice(0, 60);
  if (!taken.has(free)) return free;
  for (let number = 2; ; number += 1) {
    if (!taken.has(`${free}_${number}`)) return `${free}_${number}`;
  }
}

/** What is wrong with a step's name, as the server would refuse it. */
export function nameProblem(
  steps: readonly { key: string; namespace: string }[],
  step: { key: string; namespace: string },
): string | undefined {
  const { namespace } = step;
  if (steps.some((other) => other.key !== step.key && other.namespace === namespace)) {
    return `Another step is already named ${namespace}.`;
  }
  if (
    namespace === "trigger" ||
    namespace.length > 64 ||
    !/^[A-Za-z_][A-Za-z0-9_]*$/.test(namespace)
  ) {
    return "Allowed are 1 to 64 letters, digits and _, not starting with a digit, and not trigger.";
  }
  return undefined;
}
