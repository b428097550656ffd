/** Link to the page of a record, by its name. */

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** The name of a record, which leads to its page. */
export function RecordLink({
  of: { id, name, kind },
  className,
}: {
  of: { id: string; name: string; kind: "source" | "workflow" | "account" | "webhook" };
  className: string;
}): ReactNode {
  const shared = { className, children: name };
  switch (kind) {
    case "source":
      return <Link to="/sources/$id" params={{ id }} {...shared} />;
    case "workflow":
      return <Link to="/workflows/$id" params={{ id }} {...shared} />;
    case "webhook":
      return <Link to="/webhooks/$id" params={{ id }} {...shared} />;
    case "account":
      return <Link to="/accounts/$id" params={{ id }} {...shared} />;
  }
}
