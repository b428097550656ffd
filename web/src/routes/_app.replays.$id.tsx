import { createFileRoute } from "@tanstack/react-router";
import { ReplayPage } from "~/features/replays/replay-page";

export const Route = createFileRoute("/_app/replays/$id")({ component: Replay });

function Replay() {
  const { id } = Route.useParams();
  return <ReplayPage key={id} id={id} />;
}
