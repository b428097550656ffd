//! The outbox.

use deadpool_postgres::{Client, GenericClient};
use millrace_model::clock::Timestamp;
use millrace_model::ids::MailId;
use millrace_store::{Mail, MailResult, StoreResult};

use crate::db::text;
use crate::rows::{self, execute, many};

pub(crate) async fn queue(t: &impl GenericClient, m: &Mail) -> StoreResult<()> {
    execute(
        t,
        "INSERT INTO mail (id, org_id, recipient, subject, text, status, attempts, last_error, next_at, created_at, html) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)
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
        ],
    )
    .await?;
    Ok(())
}

/// As runs are claimed: what another server takes is passed over.
pub(crate) async fn claim(c: &Client, now: Timestamp, retry_at: Timestamp, limit: u32) -> StoreResult<Vec<Mail>> {
    let sql = format!(
        "WITH picked AS MATERIALIZED (
           SELECT id AS picked_id FROM mail WHERE status = 'queued' AND next_at <= $1 ORDER BY next_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
         UPDATE mail SET next_at = $2 FROM picked WHERE id = picked_id RETURNING {}",
        rows::MAIL
    );
    let mut mails = many(c, &sql, &[&now.ms(), &retry_at.ms(), &i64::from(limit)], rows::mail).await?;
    // RETURNING gives no order.
    mails.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(mails)
}

pub(crate) async fn result(c: &Client, id: &MailId, result: &MailResult) -> StoreResult<()> {
    let id = id.as_str();
    match result {
        MailResult::Sent => execute(c, "UPDATE mail SET status = 'sent', attempts = attempts + 1, last_error = NULL WHERE id = $1", &[&id]).await?,
        MailResult::Retry { at, error } => {
            execute(
                c,
                "UPDATE mail SET attempts = attempts + 1, next_at = $2, last_error = $3 WHERE id = $1 AND status = 'queued'",
                &[&id, &at.ms(), &text(error)],
            )
            .await?
        }
        MailResult::Failed { error } => {
            execute(c, "UPDATE mail SET status = 'failed', attempts = attempts + 1, last_error = $2 WHERE id = $1 AND status = 'queued'", &[&id, &text(error)])
                .await?
        }
    };
    Ok(())
}
