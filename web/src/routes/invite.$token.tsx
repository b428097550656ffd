import { createFileRoute } from "@tanstack/react-router";
import { LinkPage } from "~/features/session/link-page";

export const Route = createFileRoute("/invite/$token")({ component: Page });

function Page() {
  const { token } = Route.useParams();
  return <LinkPage token={token} />;
}
