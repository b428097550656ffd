//! Times that are moved when the machine's clock went back.

use millrace_model::clock::Timestamp;
use millrace_model::ids::TimerId;
use millrace_store::StoreResult;
use rusqlite::{Connection, params};

use crate::rows::execute;

/// Of whatever waits for a time but the timers, which have a rule of their own: `?1` is now, `?2`
/// how far the clock went back.
const MOVED: &[&str] = &[
    "UPDATE pauses SET wake_at = wake_at - ?2 WHERE wake_at > ?1",
    "UPDATE mail SET next_at = next_at - ?2 WHERE status = 'queued' AND next_at > ?1",
    "UPDATE deliveries SET next_at = next_at - ?2 WHERE status = 'queued' AND next_at > ?1",
    "UPDATE webhook_deliveries SET next_at = next_at - ?2 WHERE status = 'queued' AND next_at > ?1",
    "UPDATE webhook_deliveries SET give_up_at = give_up_at - ?2 WHERE status = 'queued' AND give_up_at > ?1",
    "UPDATE webhooks SET paused_until = paused_until - ?2 WHERE paused_until > ?1",
];

pub(crate) fn went_back(c: &Connection, now: Timestamp, by_ms: i64) -> StoreResult<()> {
    for sql in MOVED {
        execute(c, sql, params![now.ms(), by_ms])?;
    }
    Ok(())
}

pub(crate) fn move_timer(
    c: &Connection,
    id: &TimerId,
    from: Timestamp,
    to: Timestamp,
) -> StoreResult<bool> {
    Ok(execute(
        c,
        "UPDATE timers SET next_at = ?3 WHERE id = ?1 AND next_at = ?2",
        params![id.as_str(), from.ms(), to.ms()],
    )? > 0)
}
