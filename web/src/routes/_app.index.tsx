import { createFileRoute } from "@tanstack/react-router";
import { HomePage } from "~/features/home/home-page";
import { type RangeName, rangeOf } from "~/features/home/ranges";
import { examples } from "~/features/sources/examples";

export const Route = createFileRoute("/_app/")({
  validateSearch: (given: Record<string, unknown>): { range?: RangeName } => {
    const { name } = rangeOf(given.range);
    return name === "hour" ? {} : { range: name };
  },
  component: Home,
});

function Home() {
  const { range } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <HomePage
      range={range ?? "hour"}
      examples={examples}
      onRange={(next) =>
        void navigate({
          search: next === "hour" ? {} : { range: next },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
