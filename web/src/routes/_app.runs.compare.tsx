import { createFileRoute } from "@tanstack/react-router";
import { ComparePage } from "~/features/runs/compare-page";
import { Banner } from "~/ui/banner";

const textOf = (given: unknown): string => (typeof given === "string" ? given : "");

export const Route = createFileRoute("/_app/runs/compare")({
  validateSearch: (given: Record<string, unknown>): { a: string; b: string } => ({
    a: textOf(given.a),
    b: textOf(given.b),
  }),
  component: Compare,
});

function Compare() {
  const { a, b } = Route.useSearch();
  if (a === "" || b === "") {
    return (
      <div className="crash">
        <Banner kind="waits" title="Choose two runs">
          Name them in the address: <code className="mono">/runs/compare?a=run_…&amp;b=run_…</code>
        </Banner>
      </div>
    );
  }
  return <ComparePage key={`${a} ${b}`} a={a} b={b} />;
}
