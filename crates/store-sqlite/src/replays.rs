//! Replays of many runs.

use millrace_model::ids::ReplayId;
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_store::{ReplayStep, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{self, execute, many, number, one};
use crate::runs;
use crate::store::json;

pub(crate) fn create(c: &Connection, r: &Replay) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO replays (id, org_id, owner_id, selection, status, version, position, total, replayed, skipped, note, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            r.id.as_str(),
            r.org_id.as_str(),
            r.owner,
            json(&r.selection)?,
            r.status.as_str(),
            r.version,
            json(&r.position)?,
            r.total,
            r.replayed,
            r.skipped,
            r.note,
            r.created_at.ms(),
            r.updated_at.ms()
        ],
    )?;
    Ok(())
}

/// Compare and set of the version: a step is taken once, and never after the replay was held or
/// ended.
pub(crate) fn step(c: &Connection, step: &ReplayStep) -> StoreResult<()> {
    let r = &step.replay;
    let changed = execute(
        c,
        "UPDATE replays SET status = ?3, version = ?4, position = ?5, replayed = ?6, skipped = ?7, note = ?8, updated_at = ?9 WHERE id = ?1 AND version = ?2",
        params![
            r.id.as_str(),
            r.version - 1,
            r.status.as_str(),
            r.version,
            json(&r.position)?,
            r.replayed,
            r.skipped,
            r.note,
            r.updated_at.ms()
        ],
    )?;
    if changed == 0 {
        return Err(StoreError::StateChanged);
    }
    let new: Vec<_> = step.runs.iter().map(|(_, run)| run.clone()).collect();
    runs::insert_all(c, &new)?;
    for (original, run) in &step.runs {
        execute(
            c,
            "INSERT INTO replayed_runs (replay_id, original_id, run_id, event_edited) VALUES (?1, ?2, ?3, ?4)",
            params![r.id.as_str(), original.id.as_str(), run.id.as_str(), original.event_edited],
        )?;
    }
    Ok(())
}

pub(crate) fn running(
    c: &Connection,
    after: &str,
    limit: u32,
) -> StoreResult<(Vec<Replay>, Vec<String>)> {
    rows::readable(
        c,
        "replays",
        "SELECT * FROM replays WHERE status = 'running' ORDER BY id <= ?1, id LIMIT ?2",
        params![after, limit],
        rows::replay,
    )
}

pub(crate) fn counts(c: &Connection, id: &ReplayId) -> StoreResult<ReplayCounts> {
    let counts = one(
        c,
        "SELECT coalesce(sum(n.status IN ('queued', 'running', 'paused')), 0), coalesce(sum(n.status = 'succeeded'), 0),
                coalesce(sum(n.status = 'failed'), 0), coalesce(sum(n.status = 'cancelled'), 0)
         FROM replayed_runs r JOIN runs n ON n.id = r.run_id WHERE r.replay_id = ?1",
        [id.as_str()],
        |row| {
            let get = |at| row.get::<_, i64>(at).map_err(database);
            Ok(ReplayCounts { unfinished: get(0)?, succeeded: get(1)?, failed: get(2)?, cancelled: get(3)? })
        },
    )?;
    Ok(counts.unwrap_or_default())
}

/// From the small index of unfinished runs: costs what is under way, not what was replayed.
pub(crate) fn under_way(c: &Connection, id: &ReplayId) -> StoreResult<u64> {
    let count = number(
        c,
        "SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND EXISTS (SELECT 1 FROM replayed_runs r WHERE r.run_id = runs.id AND r.replay_id = ?1)",
        [id.as_str()],
    )?;
    Ok(u64::try_from(count).unwrap_or(0))
}

pub(crate) fn replayed(
    c: &Connection,
    id: &ReplayId,
    page: &Page,
) -> StoreResult<Listing<ReplayedRun>> {
    let (order, back) = if page.before.is_some() { ("DESC", true) } else { ("ASC", false) };
    let mut items = many(
        c,
        &format!(
            "SELECT r.original_id, r.run_id, n.status FROM replayed_runs r LEFT JOIN runs n ON n.id = r.run_id
             WHERE r.replay_id = ?1 AND (?2 IS NULL OR r.original_id > ?2) AND (?3 IS NULL OR r.original_id < ?3) ORDER BY r.original_id {order} LIMIT ?4"
        ),
        params![id.as_str(), page.after, page.before, page.limit],
        rows::replayed_run,
    )?;
    if back {
        items.reverse();
    }
    let total =
        number(c, "SELECT count(*) FROM replayed_runs WHERE replay_id = ?1", [id.as_str()])?;
    Ok(Listing::of(items, u64::try_from(total).unwrap_or(0)))
}
