import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, Link, Outlet } from "@tanstack/react-router";
import { Empty } from "~/ui/banner";

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

function NotFound() {
  return (
    <Empty title="There is no page at this address.">
      <p>
        <Link to="/" className="link">
          Home
        </Link>
      </p>
    </Empty>
  );
}
