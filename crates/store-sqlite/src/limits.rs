//! Limits of owners' runs: those that have any are claimed owner by owner, counted under the one writer.

use millrace_model::clock::Timestamp;
use millrace_model::limits::{RunLimits, Window};
use millrace_model::run::{NewRun, Run};
use millrace_store::{Claim, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{self, execute, many, number};
use crate::runs;
use crate::store::json;

/// The limits of an owner from now on. Its window goes on, so that a new deployment is no way around a throttle.
pub(crate) fn replace(c: &Connection, owner: &str, limits: Option<&RunLimits>) -> StoreResult<()> {
    match limits {
        Some(limits) => execute(
            c,
            "INSERT INTO run_limits (owner_id, limits, window_at, window_runs) VALUES (?1, ?2, 0, 0) ON CONFLICT (owner_id) DO UPDATE SET limits = excluded.limits",
            params![owner, json(limits)?],
        )?,
        None => execute(c, "DELETE FROM run_limits WHERE owner_id = ?1", [owner])?,
    };
    Ok(())
}

/// Claims runs of owners that have limits, as far as these leave room.
pub(crate) fn claim(c: &Connection, claim: Claim<'_>) -> StoreResult<Vec<Run>> {
    let waiting = many(
        c,
        "SELECT owner_id, limits, window_at, window_runs FROM run_limits
         WHERE owner_id IN (SELECT owner_id FROM runs WHERE status IN ('queued', 'running') AND (status = 'queued' OR lease_until < ?1))",
        [claim.now.ms()],
        |row| {
            let text: String = row.get(1).map_err(database)?;
            let limits: RunLimits = serde_json::from_str(&text).map_err(|e| StoreError::Corrupt { what: format!("the column limits: {e}") })?;
            let window = Window { began_at: Timestamp(row.get(2).map_err(database)?), runs: row.get(3).map_err(database)? };
            Ok((row.get::<_, String>(0).map_err(database)?, limits, window))
        },
    )?;
    let mut claimed = Vec::new();
    for (owner, limits, window) in waiting {
        let under_way = "SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND status = 'running' AND lease_until >= ?2 AND owner_id = ?1";
        let (room, window) = limits.room(number(c, under_way, params![owner, claim.now.ms()])?, window, claim.now);
        let take = room.min(i64::from(claim.limit) - claimed.len() as i64);
        if take > 0 {
            let runs = many(
                c,
                "UPDATE runs SET status = 'running', attempt = attempt + 1, node = ?1, lease_until = ?2, started_at = ?3
                 WHERE id IN (SELECT id FROM runs WHERE status IN ('queued', 'running') AND (status = 'queued' OR lease_until < ?3) AND owner_id = ?5
                              ORDER BY created_at, id LIMIT ?4)
                 RETURNING *",
                params![claim.node, claim.lease_until.ms(), claim.now.ms(), take, owner],
                rows::run,
            )?;
            let started = window.runs + runs.len() as i64;
            execute(c, "UPDATE run_limits SET window_at = ?2, window_runs = ?3 WHERE owner_id = ?1", params![owner, window.began_at.ms(), started])?;
            claimed.extend(runs);
        }
    }
    Ok(claimed)
}

/// Queues a run unless so many of its owner's wait already.
pub(crate) fn accept(c: &Connection, run: &NewRun, queue_max: u32) -> StoreResult<()> {
    let queued = number(c, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND owner_id = ?1", [run.owner.as_str()])?;
    if queued >= i64::from(queue_max) { Err(StoreError::QueueFull) } else { runs::insert(c, run, None) }
}
