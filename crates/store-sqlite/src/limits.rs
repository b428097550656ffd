//! Limits of owners' runs: those that have any are claimed owner by owner, counted under the one
//! writer.

use millrace_model::clock::Timestamp;
use millrace_model::limits::{RunLimits, Window};
use millrace_model::run::{NewRun, Run};
use millrace_store::{Claim, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{execute, many, number};
use crate::runs;
use crate::store::json;

/// The limits of an owner from now on. Its window goes on, so that a new deployment is no way
/// around a throttle.
pub(crate) fn replace(c: &Connection, owner: &str, limits: Option<&RunLimits>) -> StoreResult<()> {
    match limits {
        Some(limits) => execute(
            c,
            "INSERT INTO run_limits (owner_id, limits, window_at, window_runs, waiting)
             VALUES (?1, ?2, 0, 0, (SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND owner_id = ?1))
             ON CONFLICT (owner_id) DO UPDATE SET limits = excluded.limits",
            params![owner, json(limits)?],
        )?,
        None => execute(c, "DELETE FROM run_limits WHERE owner_id = ?1", [owner])?,
    };
    Ok(())
}

/// The limits of an owner, where it has any, and how far its window is.
pub(crate) fn of(c: &Connection, owner: &str) -> StoreResult<Option<(RunLimits, Window)>> {
    let found = many(
        c,
        "SELECT limits, window_at, window_runs FROM run_limits WHERE owner_id = ?1",
        [owner],
        |row| {
            let text: String = row.get(0).map_err(database)?;
            // What cannot be read holds back nobody else's runs, and its own as far as it may.
            let limits = millrace_model::json::from_str(&text).unwrap_or(RunLimits {
                concurrency: Some(1),
                throttle: None,
                in_order: true,
            });
            Ok((
                limits,
                Window {
                    began_at: Timestamp(row.get(1).map_err(database)?),
                    runs: row.get(2).map_err(database)?,
                },
            ))
        },
    )?;
    Ok(found.into_iter().next())
}

/// Claims runs of an owner that has limits, as far as these leave room.
pub(crate) fn claim(
    c: &Connection,
    claim: Claim<'_>,
    owner: &str,
    (limits, window): (RunLimits, Window),
    limit: i64,
) -> StoreResult<Vec<Run>> {
    let under_way = "SELECT count(*) FROM runs INDEXED BY runs_under_way WHERE status = 'running' AND lease_until >= ?2 AND owner_id = ?1";
    let (room, window) =
        limits.room(number(c, under_way, params![owner, claim.now.ms()])?, window, claim.now);
    let take = room.min(limit);
    if take <= 0 {
        return Ok(Vec::new());
    }
    let runs = runs::take(c, claim, owner, take)?;
    let started = window.runs.saturating_add(runs.len() as i64);
    execute(
        c,
        "UPDATE run_limits SET window_at = ?2, window_runs = ?3 WHERE owner_id = ?1",
        params![owner, window.began_at.ms(), started],
    )?;
    Ok(runs)
}

/// Queues a run unless so many of its owner's wait already. Where it has limits, their number is
/// kept by triggers; else no more are counted than may wait, and none where any number may.
pub(crate) fn accept(c: &Connection, run: &NewRun, queue_max: u32) -> StoreResult<()> {
    if queue_max < u32::MAX {
        let owner = run.owner.as_str();
        let kept = many(c, "SELECT waiting FROM run_limits WHERE owner_id = ?1", [owner], |row| {
            row.get::<_, i64>(0).map_err(database)
        })?;
        let waiting = match kept.first() {
            Some(waiting) => *waiting,
            None => {
                let waiting = "SELECT count(*) FROM (SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND owner_id = ?1 LIMIT ?2)";
                number(c, waiting, params![owner, queue_max])?
            }
        };
        if waiting >= i64::from(queue_max) {
            return Err(StoreError::QueueFull);
        }
    }
    runs::insert(c, run, None)
}

/// Owners of which at least so many runs wait.
pub(crate) fn full(c: &Connection, waiting: u32) -> StoreResult<Vec<String>> {
    many(c, "SELECT owner_id FROM run_limits WHERE waiting >= ?1", [waiting], |row| {
        row.get(0).map_err(database)
    })
}
