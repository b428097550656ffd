import { createFileRoute } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { runOf } from "~/api/runs";
import { PropForm } from "~/features/prop-form/prop-form";
import { usePropForm } from "~/features/prop-form/use-prop-form";
import { StepResult } from "~/features/runs/step-result";
import { WorkflowBuilder } from "~/features/workflows/builder";
import type { FormGiven, Parts } from "~/features/workflows/parts";
import { Fields } from "~/ui/field";

export const Route = createFileRoute("/_app/workflows/$id/edit")({
  validateSearch: (
    given: Record<string, unknown>,
  ): { step?: string; run?: string; event?: string; line?: number } => ({
    ...(typeof given.step === "string" ? { step: given.step } : {}),
    ...(typeof given.run === "string" ? { run: given.run } : {}),
    ...(typeof given.event === "string" ? { event: given.event } : {}),
    ...(typeof given.line === "number" && given.line > 0 ? { line: given.line } : {}),
  }),
  component: Edit,
});

/** Most who write a workflow deploy no source meanwhile. */
const NewSource = lazy(() => import("./-new-source"));

const parts: Parts = {
  renderForm: (given) => <Form {...given} />,
  renderNewSource: (given) => (
    <Suspense>
      <NewSource {...given} />
    </Suspense>
  ),
  renderResult: ({ run, step, steps }) => (
    <StepResult key={`${run.id} ${step}`} run={runOf(run)} step={step} steps={steps} />
  ),
};

function Edit() {
  const { step, run, line } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <WorkflowBuilder
      open={step}
      run={run}
      line={line}
      onOpen={(next) =>
        void navigate({
          search: ({ line: _, ...had }) => ({ ...had, step: next }),
          replace: true,
          resetScroll: false,
        })
      }
      parts={parts}
    />
  );
}

function Form(given: FormGiven) {
  const { target, props, stored, sealed, refused, renderValue, known, picker, onValues } = given;
  const expressions = renderValue !== undefined;
  const left = given.invalid;
  const form = usePropForm({ target, props, stored, sealed, left, expressions, known });
  const { refuse, invalid } = form;
  const wrong = JSON.stringify(refused);
  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew by each drawing
  useEffect(() => {
    if (wrong !== "{}") refuse(refused);
  }, [wrong]);
  const values = JSON.stringify([form.values, invalid]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was typed is what changed
  useEffect(() => {
    if (!form.changed) return;
    const secrets = form.props.filter(({ secret }) => secret).map(({ name }) => name);
    // The last valid value of a field stays until another one is.
    const last = Object.entries(stored).filter(([name]) => form.problems[name] !== undefined);
    onValues(
      { ...form.values, ...Object.fromEntries(last) },
      {
        form: form.formId(),
        secrets: secrets.filter(
          (name) => form.values[name] !== undefined || form.problems[name] !== undefined,
        ),
        invalid: Object.keys(invalid).length === 0 ? undefined : invalid,
      },
    );
  }, [values]);
  return (
    <Fields refused={given.locked}>
      <PropForm form={form} stored={stored} renderValue={renderValue} picker={picker} />
    </Fields>
  );
}
