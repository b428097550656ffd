/** Records that are deleted with another one, by name and number: the server's dry run. */

import { useQuery } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { sentence } from "~/api/errors";
import type { Deleted, Named } from "~/api/schema";
import { count, plural } from "~/ui/format";
import { COUNTED_MAX } from "./counted";
import { placeOf } from "./places";
import "./would-go.css";

type Kind = "workflow" | "source" | "account" | "data_store" | "webhook";

/** As many names as a dialog has room for. */
export const NAMED = 6;

async function dryRun(kind: Kind, id: string, signal: AbortSignal): Promise<Deleted> {
  const asked = { params: { path: { id }, query: { dry_run: true } }, signal };
  const read = () => {
    switch (kind) {
      case "workflow":
        return body(client.DELETE("/v1/workflows/{id}", asked));
      case "source":
        return body(client.DELETE("/v1/sources/{id}", asked));
      case "account":
        return body(client.DELETE("/v1/accounts/{id}", asked));
      case "data_store":
        return body(client.DELETE("/v1/data_stores/{id}", asked));
      case "webhook":
        return body(client.DELETE("/v1/webhooks/{id}", asked));
    }
  };
  return (await read()).data;
}

/** Within the dialog that asks. */
export function WouldGo({ kind, id }: { kind: Kind; id: string }) {
  const { data, error } = useQuery({
    queryKey: ["would-go", kind, id],
    queryFn: ({ signal }) => dryRun(kind, id, signal),
    staleTime: 0,
    gcTime: 0,
  });
  if (error !== null) {
    return (
      <p role="alert" className="failed-text">
        What else is affected could not be loaded: {sentence(error)}
      </p>
    );
  }
  if (data?.would_go === undefined) return <p className="dim">Checking what else is affected…</p>;
  const { uses, domains, waiting_runs } = data.would_go;
  const nothing = uses.length === 0 && domains.length === 0 && waiting_runs === 0;
  if (nothing) return <p className="mid">Nothing else uses it, and none of its runs is waiting.</p>;
  return (
    <ul className="would-go" aria-label="Also affected">
      {waiting_runs > 0 && (
        <li>
          {waiting_runs >= COUNTED_MAX
            ? `${count(COUNTED_MAX)} or more waiting runs are`
            : `${plural(waiting_runs, "waiting run is", "waiting runs are")}`}{" "}
          cancelled
        </li>
      )}
      {domains.map((domain) => (
        <li key={domain}>
          <span className="mono">{domain}</span> stops working
        </li>
      ))}
      {uses.slice(0, NAMED).map((used) => (
        <li key={`${used.kind}:${used.id}`}>
          <Used of={used} /> loses it
        </li>
      ))}
      {uses.length > NAMED && <li>and {count(uses.length - NAMED)} more lose it</li>}
    </ul>
  );
}

/** A record that uses another one, with a link to its page in a tab of its own. */
export function Used({ of }: { of: Named }) {
  const { word, href } = placeOf(of);
  return (
    <>
      The {word}{" "}
      <a href={href} className="link name" target="_blank" rel="noreferrer">
        {of.name}
      </a>
    </>
  );
}
