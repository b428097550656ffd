//! Times that are moved when the machine's clock went back.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::TimerId;
use millrace_store::{ClockMark, StoreError, StoreResult};

use crate::db::database;
use crate::rows::{execute, one};

/// Of whatever waits for a time but the timers, which have a rule of their own: `$1` is now, `$2`
/// how far the clock went back.
const MOVED: &[&str] = &[
    "UPDATE pauses SET wake_at = wake_at - $2 WHERE wake_at > $1",
    "UPDATE mail SET next_at = next_at - $2 WHERE status = 'queued' AND next_at > $1",
    "UPDATE deliveries SET next_at = next_at - $2 WHERE status = 'queued' AND next_at > $1",
    "UPDATE webhook_deliveries SET next_at = next_at - $2 WHERE status = 'queued' AND next_at > $1",
    "UPDATE webhook_deliveries SET give_up_at = give_up_at - $2 WHERE status = 'queued' AND give_up_at > $1",
    "UPDATE webhooks SET paused_until = paused_until - $2 WHERE paused_until > $1",
];

pub(crate) async fn went_back(
    t: &Transaction<'_>,
    now: Timestamp,
    by_ms: i64,
    before: Option<&ClockMark>,
) -> StoreResult<()> {
    let before = before.map(|mark| mark.0.as_str());
    for sql in MOVED {
        // A row says which transaction wrote it.
        execute(
            t,
            &format!("{sql} AND ($3::text IS NULL OR age(xmin) > age($3::text::xid))"),
            &[&now.ms(), &by_ms, &before],
        )
        .await?;
    }
    Ok(())
}

pub(crate) async fn mark(c: &Client) -> StoreResult<ClockMark> {
    one(c, "SELECT pg_current_xact_id()::xid::text", &[], |row| {
        row.try_get(0).map(ClockMark).map_err(database)
    })
    .await?
    .ok_or_else(|| StoreError::Corrupt { what: "the number of a transaction".into() })
}

pub(crate) async fn move_timer(
    c: &Client,
    id: &TimerId,
    from: Timestamp,
    to: Timestamp,
) -> StoreResult<bool> {
    Ok(execute(
        c,
        "UPDATE timers SET next_at = $3 WHERE id = $1 AND next_at = $2",
        &[&id.as_str(), &from.ms(), &to.ms()],
    )
    .await?
        > 0)
}
