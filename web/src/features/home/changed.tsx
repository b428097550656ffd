/** Sentences about the newest audit records: person, action and record. */

import type { AuditRecord } from "~/api/schema";
import { didAct } from "~/shell/act";
import { RecordLink } from "~/shell/record-link";
import { useSession } from "~/shell/session";
import { When } from "~/ui/time";
import { withoutEarlierSaves } from "./saves";

/** What a record may be about, by its name. */
export type Changeable = {
  id: string;
  name: string;
  kind: "source" | "workflow" | "account" | "webhook";
};

export function Changed({
  records,
  most,
  actors,
  names,
}: {
  records: readonly AuditRecord[];
  most: number;
  actors: Map<string, string> | undefined;
  names: Map<string, Changeable>;
}) {
  const { user } = useSession();
  const who = ({ user_id, key_id }: AuditRecord) => {
    const key = actors?.get(key_id);
    if (key !== undefined) return key;
    return user_id === user.id ? "You" : (actors?.get(user_id) ?? user_id);
  };
  // Several things without a name, made one after the other, are one line.
  const said = withoutEarlierSaves(records).filter(
    (record, at) =>
      names.has(record.target ?? "") ||
      !records
        .slice(0, at)
        .some((before) => before.action === record.action && before.key_id === record.key_id),
  );
  return (
    <ul className="home-list home-changed" aria-labelledby="home-changed">
      {said.slice(0, most).map((record) => {
        const on = names.get(record.target ?? "");
        return (
          <li key={record.id}>
            <span className="dim small">
              <When at={record.created_at_ms} short />
            </span>
            <p className="home-change">
              <b>{who(record)}</b> {didAct(record.action, on !== undefined)}{" "}
              {on !== undefined && <RecordLink of={on} className="quiet-link" />}
            </p>
          </li>
        );
      })}
    </ul>
  );
}
