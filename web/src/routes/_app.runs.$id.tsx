import { createFileRoute } from "@tanstack/react-router";
import { runQuery } from "~/features/runs/queries";
import { RunPage } from "~/features/runs/run-page";
import { TABS, type Tab } from "~/features/runs/tabs";
import { useHashAct } from "~/shell/hash-act";
import { useReplay } from "~/shell/replay";

type Search = { step?: string; tab?: Tab };

export const Route = createFileRoute("/_app/runs/$id")({
  validateSearch: (given: Record<string, unknown>): Search => {
    const tab = TABS.find((each) => each === given.tab);
    return {
      ...(typeof given.step === "string" ? { step: given.step } : {}),
      ...(tab === undefined ? {} : { tab }),
    };
  },
  loader: ({ context: { queryClient }, params }) => {
    void queryClient.prefetchQuery(runQuery(params.id));
  },
  component: Run,
});

function Run() {
  const { id } = Route.useParams();
  const { step, tab } = Route.useSearch();
  const navigate = Route.useNavigate();
  const replay = useReplay();
  // Links in mails end in it. The address alone runs nothing: programs follow the links of mails.
  useHashAct("replay", () => replay({ kind: "one", run: id }));
  return (
    <RunPage
      key={id}
      id={id}
      step={step}
      tab={tab}
      onShow={(shown) =>
        void navigate({
          search: {
            ...(shown.step === undefined ? {} : { step: shown.step }),
            ...(shown.tab === undefined ? {} : { tab: shown.tab }),
          },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
