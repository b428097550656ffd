import { createFileRoute } from "@tanstack/react-router";
import { AccountPage } from "~/features/accounts/account-page";

export const Route = createFileRoute("/_app/accounts/$id")({ component: Account });

function Account() {
  const { id } = Route.useParams();
  return <AccountPage key={id} id={id} />;
}
