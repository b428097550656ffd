/** When a group of errors came lately, and its newest runs. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ErrorGroup } from "~/api/schema";
import { Bars } from "~/ui/bars";
import { count, plural, shortId } from "~/ui/format";
import { Glyph } from "~/ui/status";
import { useNow, When } from "~/ui/time";
import { DAYS, perDay } from "./days";
import { groupRunsQuery, LATELY_MOST } from "./queries";

const NEWEST = 3;

export function Lately({ group, owner }: { group: ErrorGroup; owner: string }) {
  const now = useNow();
  const { data: page } = useQuery(groupRunsQuery(group.id));
  if (page === undefined || page.data.length === 0) return null;
  const runs = page.data;
  const all = page.page_info.total_count;
  const counts = perDay(
    runs.map(({ created_at_ms }) => created_at_ms),
    now,
  );
  const cut = all > LATELY_MOST;
  return (
    <section className="group-lately" aria-label="Lately">
      <Bars
        values={counts}
        kind="bad"
        width={360}
        height={44}
        label={`${cut ? `The newest ${LATELY_MOST} of ${count(all)} errors` : plural(all, "error")} in ${DAYS} days, ${counts.at(-1) ?? 0} of them today`}
      />
      <p className="micro dim group-days">
        <span>{DAYS} days</span>
        {cut && <span>the newest {LATELY_MOST} only</span>}
        <span>today</span>
      </p>
      <div className="group-newest">
        <h3>Newest runs</h3>
        <Link to="/runs" search={{ owner, error: group.code }} className="link small">
          All of {group.code}
        </Link>
      </div>
      <ul>
        {runs.slice(0, NEWEST).map(({ id, summary, created_at_ms }) => (
          <li key={id}>
            <Glyph status="failed" />
            <Link to="/runs/$id" params={{ id }} className="quiet-link mono">
              {shortId(id)}
            </Link>
            <span className="mid cut grow">{summary}</span>
            <span className="dim">
              <When at={created_at_ms} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
