import { createFileRoute } from "@tanstack/react-router";
import { SignIn } from "~/features/session/sign-in";

export const Route = createFileRoute("/login")({
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: Login,
});

function Login() {
  const { next } = Route.useSearch();
  return <SignIn next={next} />;
}
