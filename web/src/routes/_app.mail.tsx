import { createFileRoute } from "@tanstack/react-router";
import { MailPage } from "~/features/mail/mail-page";

export const Route = createFileRoute("/_app/mail")({
  validateSearch: (given: Record<string, unknown>): { mail?: string } =>
    typeof given.mail === "string" ? { mail: given.mail } : {},
  component: Mail,
});

function Mail() {
  const { mail } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <MailPage
      chosen={mail}
      onChoose={(id) => void navigate({ search: { mail: id }, replace: true, resetScroll: false })}
    />
  );
}
