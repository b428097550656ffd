import { createFileRoute } from "@tanstack/react-router";
import { ReplayList } from "~/features/replays/replay-list";

export const Route = createFileRoute("/_app/replays/")({ component: ReplayList });
