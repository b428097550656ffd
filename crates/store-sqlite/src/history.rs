//! Reading and pruning history. The newest of anything costs what is read, not what is stored.

use millrace_model::clock::Timestamp;
use millrace_model::event::Event;
use millrace_model::ids::{EventId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::Run;
use millrace_model::subscription::DEFERRED;
use millrace_store::{RunFilter, StoreResult, status_text};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::errors;
use crate::rows::{self, execute, many, newest_first, number, one, order};

/// Events that a stream shows (spec 2.5, 8).
const EVENTS_SHOWN: i64 = 100;
/// Runs that are counted exactly; more are shown as this many.
const RUNS_COUNTED: i64 = 10_000;

pub(crate) fn runs(c: &Connection, org: &OrgId, owner: &str, f: &RunFilter, page: &Page) -> StoreResult<Listing<Run>> {
    let status = status_text(f.status);
    let (from, to) = (f.from.map_or(i64::MIN, Timestamp::ms), f.to.map_or(i64::MAX, Timestamp::ms));
    // Said literally, so that the small indexes of unfinished runs are used.
    let narrow = match status {
        Some("queued" | "running") => "status IN ('queued', 'running') AND",
        Some("paused") => "status = 'paused' AND",
        _ => "",
    };
    let order = order(page);
    let mut items = many(
        c,
        &format!(
            "SELECT * FROM runs WHERE {narrow} owner_id = ?1 AND org_id = ?2 AND (?3 IS NULL OR status = ?3) AND created_at >= ?4 AND created_at < ?5
           AND (?6 IS NULL OR (created_at, id) < (SELECT created_at, id FROM runs WHERE id = ?6))
           AND (?7 IS NULL OR (created_at, id) > (SELECT created_at, id FROM runs WHERE id = ?7))
         ORDER BY created_at {order}, id {order} LIMIT ?8"
        ),
        params![owner, org.as_str(), status, from, to, page.after, page.before, page.limit],
        rows::run,
    )?;
    newest_first(&mut items, page);
    let total = number(
        c,
        &format!(
            "SELECT count(*) FROM (SELECT 1 FROM runs WHERE {narrow} owner_id = ?1 AND org_id = ?2 AND (?3 IS NULL OR status = ?3) AND created_at >= ?4 AND created_at < ?5 LIMIT ?6)"
        ),
        params![owner, org.as_str(), status, from, to, RUNS_COUNTED],
    )?;
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0) })
}

pub(crate) fn events(c: &Connection, org: &OrgId, emitter: &str, name: Option<&str>, page: &Page) -> StoreResult<Listing<Event>> {
    // A cursor that is none gives an empty page.
    let bound = |cursor: &Option<String>, none: i64, unknown: i64| match cursor {
        Some(text) => text.parse::<EventId>().map_or(unknown, EventId::ordinal),
        None => none,
    };
    let (below, above) = (bound(&page.after, i64::MAX, i64::MIN), bound(&page.before, i64::MIN, i64::MAX));
    // Only the newest hundred are shown; a page is a part of those.
    let shown = "SELECT * FROM events WHERE emitter_id = ?1 AND org_id = ?2 AND (CASE WHEN ?3 IS NULL THEN name NOT IN ('$errors', '$test', '$in') ELSE name = ?3 END) ORDER BY ordinal DESC LIMIT ?4";
    // What waits is not history: all of it is shown.
    let shown_max = if name == Some(DEFERRED) { i64::MAX } else { EVENTS_SHOWN };
    let order = order(page);
    let mut items = many(
        c,
        &format!("SELECT * FROM ({shown}) WHERE ordinal < ?5 AND ordinal > ?6 ORDER BY ordinal {order} LIMIT ?7"),
        params![emitter, org.as_str(), name, shown_max, below, above, page.limit],
        rows::event,
    )?;
    newest_first(&mut items, page);
    let total = number(c, &format!("SELECT count(*) FROM ({shown})"), params![emitter, org.as_str(), name, shown_max])?;
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0) })
}

pub(crate) fn events_after(c: &Connection, org: &OrgId, emitter: &str, after: EventId, limit: u32) -> StoreResult<Vec<Event>> {
    many(
        c,
        "SELECT * FROM events WHERE emitter_id = ?1 AND org_id = ?2 AND ordinal > ?3 ORDER BY ordinal LIMIT ?4",
        params![emitter, org.as_str(), after.ordinal(), limit],
        rows::event,
    )
}

pub(crate) fn due_deferred(c: &Connection, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>> {
    let due = "json_extract(metadata, '$.delivery_ts')";
    many(c, &format!("SELECT * FROM events WHERE name = '$in' AND {due} <= ?1 ORDER BY {due} LIMIT ?2"), params![now.ms(), limit], rows::event)
}

pub(crate) fn next_deferred_at(c: &Connection) -> StoreResult<Option<Timestamp>> {
    let due = "json_extract(metadata, '$.delivery_ts')";
    one(c, &format!("SELECT {due} FROM events WHERE name = '$in' AND {due} IS NOT NULL ORDER BY {due} LIMIT 1"), [], |row| {
        row.get(0).map(Timestamp).map_err(database)
    })
}

pub(crate) fn delete_events(c: &Connection, org: &OrgId, emitter: &str, name: Option<&str>, range: (Option<EventId>, Option<EventId>)) -> StoreResult<u64> {
    let (start, end) = (range.0.map_or(i64::MIN, EventId::ordinal), range.1.map_or(i64::MAX, EventId::ordinal));
    let removed = execute(
        c,
        "DELETE FROM events WHERE emitter_id = ?1 AND org_id = ?2 AND (CASE WHEN ?3 IS NULL THEN name <> '$in' ELSE name = ?3 END) AND ordinal >= ?4 AND ordinal <= ?5",
        params![emitter, org.as_str(), name, start, end],
    )?;
    Ok(removed as u64)
}

pub(crate) fn prune(c: &Connection, before: Timestamp, limit: u32) -> StoreResult<u64> {
    let runs: Vec<String> =
        many(c, "SELECT id FROM runs WHERE created_at < ?1 AND status NOT IN ('queued', 'running', 'paused') LIMIT ?2", params![before.ms(), limit], |row| {
            row.get(0).map_err(database)
        })?;
    for id in &runs {
        execute(c, "DELETE FROM logs WHERE run_id = ?1", [id])?;
        execute(c, "DELETE FROM deliveries WHERE run_id = ?1", [id])?;
        execute(c, "DELETE FROM pauses WHERE run_id = ?1", [id])?;
        execute(c, "DELETE FROM replayed_runs WHERE run_id = ?1 OR original_id = ?1", [id])?;
        execute(c, "DELETE FROM runs WHERE id = ?1", [id])?;
    }
    let cut = EventId { ms: before.ms(), seq: 0 }.ordinal();
    let events = execute(
        c,
        "DELETE FROM events WHERE (emitter_id, ordinal) IN (SELECT emitter_id, ordinal FROM events WHERE ordinal < ?1 AND name <> '$in' LIMIT ?2)",
        params![cut, limit],
    )?;
    let deliveries = execute(
        c,
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE created_at < ?1 LIMIT ?2)",
        params![before.ms(), limit],
    )?;
    let groups = errors::prune(c, before, limit)?;
    let replays = execute(
        c,
        "DELETE FROM replays WHERE id IN (SELECT id FROM replays WHERE updated_at < ?1 AND status NOT IN ('running', 'paused') LIMIT ?2)",
        params![before.ms(), limit],
    )?;
    Ok((runs.len() + events + deliveries + groups + replays) as u64)
}
