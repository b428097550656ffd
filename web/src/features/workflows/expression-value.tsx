/** Value of a field with expressions, evaluated while they are typed. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { sentence } from "~/api/errors";
import { worded } from "~/ui/worded";
import { expressionQuery, fits } from "./expressions";

const WAIT_MS = 500;

/** The value of a field that holds expressions, with the chosen event and the results at hand. */
export function ValueOfExpression({
  project,
  value: typed,
  data,
}: {
  project: string;
  /** As JSON text, with expressions in it at any depth. */
  value: string;
  /** `steps` as JSON text. */
  data: string;
}) {
  const [asked, setAsked] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed), WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const large = !fits(data);
  const { data: value, error } = useQuery({
    ...expressionQuery(project, asked, data),
    enabled: !large,
  });
  const current = asked === typed ? value : undefined;
  return (
    <output className="expr-value small" aria-label="Value">
      {large ? (
        <span className="dim">The test data is too large. Test the step to see the value.</span>
      ) : error !== null ? (
        <span className="failed-text">{worded(sentence(error))}</span>
      ) : current === undefined ? (
        <span className="dim">…</span>
      ) : "problem" in current ? (
        <span className="failed-text">{current.problem}</span>
      ) : "nothing" in current ? (
        <span className="dim">undefined: the test data has no such value</span>
      ) : (
        <span className="mono wrap">
          {current.text}
          {current.cut && "…"}
        </span>
      )}
    </output>
  );
}
