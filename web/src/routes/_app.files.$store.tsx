import { createFileRoute } from "@tanstack/react-router";
import { FilesPage } from "~/features/data/files-page";

export const Route = createFileRoute("/_app/files/$store")({ component: Files });

function Files() {
  const { store } = Route.useParams();
  return <FilesPage key={store} store={store} />;
}
