import { createFileRoute } from "@tanstack/react-router";
import { Audit } from "~/features/settings/audit";
import { AGES, type Age, type AuditFilter } from "~/features/settings/audit-filter";
import { ForRole } from "~/shell/act-link";

const text = (given: unknown) => (typeof given === "string" && given !== "" ? given : undefined);

const isAge = (given: unknown): given is Age => typeof given === "string" && given in AGES;

export const Route = createFileRoute("/_app/settings/audit")({
  validateSearch: (given: Record<string, unknown>): AuditFilter => {
    const [user, target] = [text(given.user), text(given.target)];
    return {
      ...(user === undefined ? {} : { user }),
      ...(target === undefined ? {} : { target }),
      ...(isAge(given.age) ? { age: given.age } : {}),
    };
  },
  component: AuditPage,
});

function AuditPage() {
  const filter = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <ForRole needs="full" title="Audit log">
      <Audit
        filter={filter}
        onFilter={(search) => void navigate({ search, replace: true, resetScroll: false })}
      />
    </ForRole>
  );
}
