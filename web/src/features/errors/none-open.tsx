/** Empty list of open errors: whether a run failed lately, and who is notified of the next one. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  organizationQuery,
  ownersQuery,
  subscriptionsQuery,
  webhookNamesQuery,
} from "~/api/queries";
import { useSession } from "~/shell/session";
import { Empty, SkeletonRows } from "~/ui/banner";
import { plural } from "~/ui/format";
import { DAYS_BACK, failedLatelyQuery } from "./queries";
import { listenersOfAll } from "./told";

export function NoneOpen() {
  const { org } = useSession();
  const failed = useQuery(failedLatelyQuery);
  const organization = useQuery(organizationQuery(org.id));
  const subscriptions = useQuery(subscriptionsQuery(org.id));
  const listeners = listenersOfAll(subscriptions.data ?? [], org.id);
  const owners = useQuery({ ...ownersQuery, enabled: listeners.length > 0 });
  const webhooks = useQuery({
    ...webhookNamesQuery,
    enabled: listeners.some((id) => id.startsWith("wh_")),
  });
  // Its sentences stand in one place: none is shown before all are known.
  if ([failed, organization, subscriptions, owners, webhooks].some(({ isLoading }) => isLoading)) {
    return <SkeletonRows rows={1} />;
  }
  const names = listeners.map((id) => owners.data?.get(id)?.name ?? webhooks.data?.get(id) ?? id);
  const mailed = organization.data && recipientsOf(organization.data);
  return (
    <Empty title={failed.data === 0 ? `No failed run in ${DAYS_BACK} days.` : "No open errors."}>
      {failed.data !== undefined && failed.data > 0 && (
        <p>
          {plural(failed.data, "run")} failed in {DAYS_BACK} days; none of their errors is open.
        </p>
      )}
      <p>
        When a run fails, its error is kept here with the line of code and the event.
        {mailed !== undefined && ` Errors of workflows are mailed to ${mailed.join(", ")}.`}
        {names.length > 0 &&
          ` ${names.join(", ")} ${names.length === 1 ? "listens" : "listen"} to them.`}
      </p>
      <p>
        <Link to="/settings" className="link">
          Change who is notified
        </Link>
      </p>
    </Empty>
  );
}

function recipientsOf({
  email,
  error_recipients,
}: {
  email: string;
  error_recipients: readonly string[];
}): readonly string[] {
  return error_recipients.length === 0 ? [email] : error_recipients;
}
