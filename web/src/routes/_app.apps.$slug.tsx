import { createFileRoute } from "@tanstack/react-router";
import { AppPage } from "~/features/accounts/apps-page";

export const Route = createFileRoute("/_app/apps/$slug")({ component: App });

function App() {
  const { slug } = Route.useParams();
  return <AppPage key={slug} slug={slug} />;
}
