//! Deliveries of `$.send.*`.

use std::collections::HashMap;

use millrace_model::clock::Timestamp;
use millrace_model::ids::DeliveryId;
use millrace_store::{Delivery, DeliveryResult, Held, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::{self, execute, number};

pub(crate) fn insert(c: &Connection, d: &Delivery) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO deliveries (id, org_id, owner_id, run_id, position, kind, payload, status, attempts, response_status, last_error, next_at, created_at, finished_at, step)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'queued', 0, NULL, NULL, ?8, ?8, NULL, ?9)",
        params![d.id.as_str(), d.org_id.as_str(), d.owner, d.run_id.as_str(), d.position, d.kind.as_str(), d.payload, d.created_at.ms(), d.step],
    )?;
    Ok(())
}

/// Those that are due and may be tried: the first try of one comes after those of all before it in
/// its run.
const DUE: &str = "FROM deliveries AS d WHERE d.status = 'queued' AND d.next_at <= ?1 AND NOT EXISTS (
    SELECT 1 FROM deliveries AS e WHERE e.run_id = d.run_id AND e.position < d.position AND e.status = 'queued' AND e.attempts = 0)";

/// Whether a claim would find any: a look costs no commit.
pub(crate) fn any_due(c: &Connection, now: Timestamp) -> StoreResult<bool> {
    Ok(number(c, &format!("SELECT EXISTS (SELECT 1 {DUE})"), [now.ms()])? != 0)
}

pub(crate) fn claim(
    c: &Connection,
    now: Timestamp,
    retry_at: Timestamp,
    limit: u32,
    held: &Held,
) -> StoreResult<Vec<Delivery>> {
    // From organization to organization, and of each no more than can be taken: what else waits is
    // not looked at.
    let sql = format!(
        "UPDATE deliveries SET next_at = ?2 WHERE id IN (
           WITH RECURSIVE waiting (org) AS (
             SELECT min(org_id) FROM deliveries WHERE status = 'queued'
             UNION ALL SELECT (SELECT min(org_id) FROM deliveries WHERE status = 'queued' AND org_id > org) FROM waiting WHERE org IS NOT NULL)
           SELECT id FROM (
             SELECT due.id, due.next_at, row_number() OVER (PARTITION BY org ORDER BY due.next_at, due.id) + coalesce(?4 ->> org, 0) AS turn
             FROM waiting JOIN deliveries AS due
               ON due.id IN (SELECT d.id {DUE} AND d.org_id = org ORDER BY d.next_at, d.id LIMIT ?3))
           WHERE turn <= ?5 ORDER BY turn, next_at, id LIMIT ?3) RETURNING *"
    );
    let by = serde_json::to_string(
        &held.by.iter().map(|(org, count)| (org.as_str(), count)).collect::<HashMap<_, _>>(),
    )
    .unwrap_or_default();
    let mut claimed = rows::claimed(
        c,
        "deliveries",
        &sql,
        params![now.ms(), retry_at.ms(), limit, by, held.share],
        rows::delivery,
    )?;
    // RETURNING gives no order.
    claimed.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(claimed)
}

pub(crate) fn result(c: &Connection, id: &DeliveryId, r: &DeliveryResult) -> StoreResult<()> {
    let (status, finished, next) = r.columns();
    execute(
        c,
        "UPDATE deliveries SET status = ?2, attempts = attempts + 1, response_status = ?3, last_error = ?4, next_at = coalesce(?5, next_at), finished_at = ?6
         WHERE id = ?1 AND (status = 'queued' OR (?2 = 'delivered' AND status <> 'delivered'))",
        params![id.as_str(), status.as_str(), r.response_status, r.error, next.map(Timestamp::ms), finished.map(Timestamp::ms)],
    )?;
    Ok(())
}
