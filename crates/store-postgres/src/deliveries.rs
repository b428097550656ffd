//! Deliveries of `$.send.*`.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeliveryId, RunId};
use millrace_store::{Delivery, DeliveryResult, Held, StoreResult};
use tokio_postgres::types::ToSql;

use crate::db::text;
use crate::rows::{self, execute, many};

/// All of a settlement in one statement.
pub(crate) async fn insert(t: &Transaction<'_>, all: &[Delivery]) -> StoreResult<()> {
    if all.is_empty() {
        return Ok(());
    }
    let column = |value: fn(&Delivery) -> &str| all.iter().map(value).collect::<Vec<&str>>();
    let (ids, orgs, owners, runs) = (
        column(|d| d.id.as_str()),
        column(|d| d.org_id.as_str()),
        column(|d| &d.owner),
        column(|d| d.run_id.as_str()),
    );
    let (kinds, payloads) = (column(|d| d.kind.as_str()), column(|d| &d.payload));
    let positions: Vec<i64> = all.iter().map(|d| d.position).collect();
    let times: Vec<i64> = all.iter().map(|d| d.created_at.ms()).collect();
    let steps: Vec<_> = all.iter().map(|d| d.step.as_deref().map(text)).collect();
    execute(
        t,
        "INSERT INTO deliveries (id, org_id, owner_id, run_id, position, kind, payload, created_at, step, next_at, status, attempts)
         SELECT n.*, n.created_at, 'queued', 0
         FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bigint[], $9::text[])
           AS n (id, org_id, owner_id, run_id, position, kind, payload, created_at, step)",
        &[&ids, &orgs, &owners, &runs, &positions, &kinds, &payloads, &times, &steps],
    )
    .await?;
    Ok(())
}

/// As runs are claimed: what another server takes is passed over. The first try of one comes after
/// those of all before it in its run.
pub(crate) async fn claim(
    c: &Client,
    now: Timestamp,
    retry_at: Timestamp,
    limit: u32,
    held: &Held,
) -> StoreResult<Vec<Delivery>> {
    // From organization to organization, and of each no more than can be taken: what else waits is
    // not looked at. A list of ids, as a join would have the planner read all that waits.
    let sql = format!(
        "WITH RECURSIVE waiting (org) AS (
           SELECT min(org_id) FROM deliveries WHERE status = 'queued'
           UNION ALL SELECT (SELECT min(org_id) FROM deliveries WHERE status = 'queued' AND org_id > org) FROM waiting WHERE org IS NOT NULL),
         turns AS MATERIALIZED (
           SELECT due.id AS turn_id, row_number() OVER (PARTITION BY org ORDER BY due.next_at, due.id) + coalesce(held, 0) AS turn
           FROM waiting LEFT JOIN UNNEST($4::text[], $5::bigint[]) AS h (held_by, held) ON held_by = org CROSS JOIN LATERAL (
             SELECT d.id, d.next_at FROM deliveries AS d WHERE d.org_id = org AND d.status = 'queued' AND d.next_at <= $1 AND NOT EXISTS (
               SELECT 1 FROM deliveries AS e WHERE e.run_id = d.run_id AND e.position < d.position AND e.status = 'queued' AND e.attempts = 0)
             ORDER BY d.next_at, d.id LIMIT least($3::bigint, greatest($6::bigint - coalesce(held, 0), 0))) AS due),
         picked AS MATERIALIZED (
           SELECT d.id AS picked_id FROM deliveries AS d
           WHERE d.id = ANY (ARRAY(SELECT turn_id FROM turns ORDER BY turn LIMIT 4 * $3::bigint)) AND d.status = 'queued' AND d.next_at <= $1
           ORDER BY (SELECT turn FROM turns WHERE turn_id = d.id), d.next_at, d.id LIMIT $3 FOR UPDATE OF d SKIP LOCKED)
         UPDATE deliveries SET next_at = $2 FROM picked WHERE id = picked_id RETURNING {}",
        rows::DELIVERY
    );
    let (orgs, counts): (Vec<&str>, Vec<i64>) =
        held.by.iter().map(|(org, count)| (org.as_str(), i64::from(*count))).unzip();
    let values: [&(dyn ToSql + Sync); 6] =
        [&now.ms(), &retry_at.ms(), &i64::from(limit), &orgs, &counts, &i64::from(held.share)];
    let mut claimed = rows::claimed(c, "deliveries", &sql, &values, rows::delivery).await?;
    // RETURNING gives no order.
    claimed.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(claimed)
}

pub(crate) async fn result(c: &Client, id: &DeliveryId, r: &DeliveryResult) -> StoreResult<()> {
    let (status, finished, next) = r.columns();
    execute(
        c,
        "UPDATE deliveries SET status = $2, attempts = attempts + 1, response_status = $3, last_error = $4, next_at = coalesce($5, next_at), finished_at = $6
         WHERE id = $1 AND (status = 'queued' OR ($2 = 'delivered' AND status <> 'delivered'))",
        &[&id.as_str(), &status.as_str(), &r.response_status, &r.error.as_deref().map(text), &next.map(Timestamp::ms), &finished.map(Timestamp::ms)],
    )
    .await?;
    Ok(())
}

pub(crate) async fn of_run(c: &Client, run: &RunId) -> StoreResult<Vec<Delivery>> {
    let sql =
        format!("SELECT {} FROM deliveries WHERE run_id = $1 ORDER BY position", rows::DELIVERY);
    many(c, &sql, &[&run.as_str()], rows::delivery).await
}
