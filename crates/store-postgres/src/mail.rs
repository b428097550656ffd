//! The outbox.

use deadpool_postgres::{Client, GenericClient};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{MailId, OrgId};
use millrace_store::{Mail, MailResult, StoreResult};

use crate::db::text;
use crate::rows::{self, execute, number};

/// False: as many wait as may.
pub(crate) async fn queue(t: &impl GenericClient, m: &Mail) -> StoreResult<bool> {
    let has_room = "SELECT (count(*) < $2 AND coalesce(sum(bytes), 0) < $3)::int::bigint FROM (
         SELECT octet_length(text) + coalesce(octet_length(html), 0) AS bytes FROM mail
         WHERE org_id = $1 AND status = 'queued' LIMIT $2) AS waiting";
    let (most, most_bytes) = (Mail::WAITING_MAX, Mail::WAITING_BYTES_MAX);
    let values: rows::Params<'_> = &[&m.org_id.as_str(), &most, &most_bytes];
    if m.link.is_none() && number(t, has_room, values).await? == 0 {
        return Ok(false);
    }
    execute(
        t,
        "INSERT INTO mail (id, org_id, recipient, subject, text, status, attempts, last_error, next_at, created_at, html, link) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11)
         ON CONFLICT (id) DO NOTHING",
        &[
            &m.id.as_str(),
            &m.org_id.as_str(),
            &text(&m.recipient),
            &text(&m.subject),
            &text(&m.text),
            &m.status.as_str(),
            &m.attempts,
            &m.last_error.as_deref().map(text),
            &m.created_at.ms(),
            &m.html.as_deref().map(text),
            &m.link,
        ],
    )
    .await?;
    Ok(true)
}

/// As runs are claimed: what another server takes is passed over. A list of ids, as a join would
/// have the planner read all that waits.
pub(crate) async fn claim(
    c: &Client,
    now: Timestamp,
    retry_at: Timestamp,
    limit: u32,
    after: Option<&OrgId>,
) -> StoreResult<Vec<Mail>> {
    let sql = format!(
        "WITH RECURSIVE waiting (org) AS (
           SELECT min(org_id) FROM mail WHERE status = 'queued'
           UNION ALL SELECT (SELECT min(org_id) FROM mail WHERE status = 'queued' AND org_id > org) FROM waiting WHERE org IS NOT NULL),
         turns AS MATERIALIZED (
           SELECT due.id AS turn_id, row_number() OVER (PARTITION BY org ORDER BY due.next_at, due.id) AS turn, org <= $4 AS had, org
           FROM waiting CROSS JOIN LATERAL (
             SELECT m.id, m.next_at FROM mail AS m WHERE m.org_id = org AND m.status = 'queued' AND m.next_at <= $1
             ORDER BY m.next_at, m.id LIMIT 4 * $3::bigint) AS due),
         picked AS MATERIALIZED (
           SELECT m.id AS picked_id FROM mail AS m
           WHERE m.id = ANY (ARRAY(SELECT turn_id FROM turns ORDER BY turn, had, org LIMIT 4 * $3::bigint)) AND m.status = 'queued' AND m.next_at <= $1
           ORDER BY (SELECT (turn, had, org) FROM turns WHERE turn_id = m.id) LIMIT $3 FOR UPDATE OF m SKIP LOCKED)
         UPDATE mail SET next_at = $2 FROM picked WHERE id = picked_id RETURNING {}",
        rows::MAIL
    );
    rows::claimed(
        c,
        "mail",
        &sql,
        &[&now.ms(), &retry_at.ms(), &i64::from(limit), &after.map_or("", OrgId::as_str)],
        rows::mail,
    )
    .await
}

pub(crate) async fn result(c: &Client, id: &MailId, result: &MailResult) -> StoreResult<()> {
    let id = id.as_str();
    match result {
        MailResult::Sent => execute(c, "UPDATE mail SET status = 'sent', attempts = attempts + 1, last_error = NULL WHERE id = $1", &[&id]).await?,
        MailResult::Retry { at, error } => {
            execute(
                c,
                "UPDATE mail SET attempts = attempts + 1, next_at = $2, last_error = $3 WHERE id = $1 AND status || '' = 'queued'",
                &[&id, &at.ms(), &text(error)],
            )
            .await?
        }
        MailResult::Failed { error } => {
            execute(c, "UPDATE mail SET status = 'failed', attempts = attempts + 1, last_error = $2 WHERE id = $1 AND status || '' = 'queued'", &[&id, &text(error)])
                .await?
        }
    };
    Ok(())
}
