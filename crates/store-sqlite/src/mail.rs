//! The outbox.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{MailId, OrgId};
use millrace_store::{Mail, MailResult, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::{self, execute, number};

/// False: as many wait as may.
pub(crate) fn queue(c: &Connection, m: &Mail) -> StoreResult<bool> {
    let has_room = "SELECT count(*) < ?2 AND coalesce(sum(bytes), 0) < ?3 FROM (
         SELECT octet_length(text) + coalesce(octet_length(html), 0) AS bytes FROM mail
         WHERE org_id = ?1 AND status = 'queued' LIMIT ?2) AS waiting";
    let values = params![m.org_id.as_str(), Mail::WAITING_MAX, Mail::WAITING_BYTES_MAX];
    if m.link.is_none() && number(c, has_room, values)? == 0 {
        return Ok(false);
    }
    execute(
        c,
        "INSERT INTO mail (id, org_id, recipient, subject, text, status, attempts, last_error, next_at, created_at, html, link) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11)
         ON CONFLICT (id) DO NOTHING",
        params![m.id.as_str(), m.org_id.as_str(), m.recipient, m.subject, m.text, m.status.as_str(), m.attempts, m.last_error, m.created_at.ms(), m.html, m.link],
    )?;
    Ok(true)
}

pub(crate) fn claim(
    c: &Connection,
    now: Timestamp,
    retry_at: Timestamp,
    limit: u32,
    after: Option<&OrgId>,
) -> StoreResult<Vec<Mail>> {
    rows::claimed(
        c,
        "mail",
        // From organization to organization: what else waits is not looked at.
        "UPDATE mail SET next_at = ?2 WHERE id IN (
           WITH RECURSIVE waiting (org) AS (
             SELECT min(org_id) FROM mail WHERE status = 'queued'
             UNION ALL SELECT (SELECT min(org_id) FROM mail WHERE status = 'queued' AND org_id > org) FROM waiting WHERE org IS NOT NULL)
           SELECT id FROM (
             SELECT due.id, org, row_number() OVER (PARTITION BY org ORDER BY due.next_at, due.id) AS turn
             FROM waiting JOIN mail AS due
               ON due.id IN (SELECT m.id FROM mail AS m WHERE m.status = 'queued' AND m.next_at <= ?1 AND m.org_id = org ORDER BY m.next_at, m.id LIMIT ?3))
           ORDER BY turn, org <= ?4, org LIMIT ?3) RETURNING *",
        params![now.ms(), retry_at.ms(), limit, after.map_or("", OrgId::as_str)],
        rows::mail,
    )
}

pub(crate) fn result(c: &Connection, id: &MailId, result: &MailResult) -> StoreResult<()> {
    match result {
        MailResult::Sent => execute(
            c,
            "UPDATE mail SET status = 'sent', attempts = attempts + 1, last_error = NULL WHERE id = ?1",
            [id.as_str()],
        )?,
        MailResult::Retry { at, error } => execute(
            c,
            "UPDATE mail SET attempts = attempts + 1, next_at = ?2, last_error = ?3 WHERE id = ?1 AND status = 'queued'",
            params![id.as_str(), at.ms(), error],
        )?,
        MailResult::Failed { error } => execute(
            c,
            "UPDATE mail SET status = 'failed', attempts = attempts + 1, last_error = ?2 WHERE id = ?1 AND status = 'queued'",
            params![id.as_str(), error],
        )?,
    };
    Ok(())
}
