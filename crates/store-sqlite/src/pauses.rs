//! Pauses: how they begin and end. The run's row says whether it is paused, this table the rest.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::RunStatus;
use millrace_store::{
    Callback, CalledBack, Pause, PauseEnd, Pausing, StoreError, StoreResult, Woken,
};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{corrupt, execute, get, many, one};
use crate::settle;

pub(crate) fn pause(c: &Connection, p: &Pausing) -> StoreResult<RunStatus> {
    let held = execute(
        c,
        "UPDATE runs SET status = 'paused', result = ?3, lease_until = NULL, node = NULL WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
        params![p.run_id.as_str(), p.attempt, p.result],
    )?;
    if held == 0 {
        return Err(StoreError::Fenced);
    }
    // What came before the attempt ended is there already.
    execute(
        c,
        "INSERT INTO pauses (run_id, attempt, wake_at, wake_cancels, state, callback_cancels) VALUES (?1, ?2, ?3, ?4, ?5, 0)
         ON CONFLICT (run_id, attempt) DO UPDATE SET state = excluded.state",
        params![p.run_id.as_str(), p.attempt, p.wake_at.ms(), p.then == PauseEnd::Cancel, p.state],
    )?;
    let early = one(
        c,
        "SELECT callback_cancels FROM pauses WHERE run_id = ?1 AND attempt = ?2 AND callback IS NOT NULL",
        params![p.run_id.as_str(), p.attempt],
        |row| row.get::<_, bool>(0).map_err(database),
    )?;
    settle::effects(c, &p.effects)?;
    match early {
        Some(cancels) => end(c, p.run_id.as_str(), cancels, p.now),
        None => Ok(RunStatus::Paused),
    }
}

/// Ends the pause of a run that is paused.
fn end(c: &Connection, id: &str, cancels: bool, now: Timestamp) -> StoreResult<RunStatus> {
    let (status, finished_at) =
        if cancels { (RunStatus::Cancelled, Some(now.ms())) } else { (RunStatus::Queued, None) };
    execute(
        c,
        "UPDATE runs SET status = ?2, finished_at = ?3 WHERE id = ?1 AND status = 'paused'",
        params![id, status.as_str(), finished_at],
    )?;
    Ok(status)
}

pub(crate) fn wake(c: &Connection, now: Timestamp, limit: u32) -> StoreResult<Woken> {
    let due: Vec<(String, bool)> = many(
        c,
        "SELECT run_id, wake_cancels FROM pauses WHERE wake_at <= ?1 ORDER BY wake_at LIMIT ?2",
        params![now.ms(), limit],
        |row| Ok((row.get(0).map_err(database)?, row.get(1).map_err(database)?)),
    )?;
    let mut woken = Woken::default();
    for (id, cancels) in due {
        execute(
            c,
            "UPDATE pauses SET wake_at = NULL WHERE run_id = ?1 AND wake_at IS NOT NULL",
            [&id],
        )?;
        match end(c, &id, cancels, now)? {
            RunStatus::Cancelled => woken.cancelled += 1,
            _ => woken.resumed += 1,
        }
    }
    Ok(woken)
}

pub(crate) fn call_back(c: &Connection, b: &Callback) -> StoreResult<CalledBack> {
    let found =
        one(c, "SELECT status, attempt FROM runs WHERE id = ?1", [b.run_id.as_str()], |row| {
            Ok((
                row.get::<_, String>(0).map_err(database)?,
                row.get::<_, i64>(1).map_err(database)?,
            ))
        })?;
    let Some((status, attempt)) = found else { return Ok(CalledBack::Unknown) };
    let cancels = b.end == PauseEnd::Cancel;
    match RunStatus::parse(&status) {
        Some(RunStatus::Paused) if attempt == b.attempt => {
            // A pause that is over is not begun anew by who comes before the scheduler.
            let held = execute(
                c,
                "UPDATE pauses SET wake_at = NULL, callback = ?3, callback_cancels = ?4 WHERE run_id = ?1 AND attempt = ?2 AND wake_at > ?5",
                params![b.run_id.as_str(), b.attempt, b.request, cancels, b.now.ms()],
            )?;
            if held == 0 {
                return Ok(CalledBack::TooLate);
            }
            end(c, b.run_id.as_str(), cancels, b.now)?;
            Ok(CalledBack::Done)
        }
        Some(RunStatus::Running) if attempt == b.attempt => {
            let kept = execute(
                c,
                "INSERT INTO pauses (run_id, attempt, wake_cancels, callback, callback_cancels) VALUES (?1, ?2, 0, ?3, ?4) ON CONFLICT (run_id, attempt) DO NOTHING",
                params![b.run_id.as_str(), b.attempt, b.request, cancels],
            )?;
            Ok(if kept > 0 { CalledBack::Kept } else { CalledBack::TooLate })
        }
        _ => Ok(CalledBack::TooLate),
    }
}

pub(crate) fn run_attempt(
    c: &Connection,
    id: &RunId,
) -> StoreResult<Option<(OrgId, RunStatus, i64)>> {
    one(c, "SELECT org_id, status, attempt FROM runs WHERE id = ?1", [id.as_str()], |row| {
        let status = RunStatus::parse(&get::<String>(row, "status")?);
        let status = status.ok_or_else(|| corrupt("status"))?;
        Ok((OrgId::from_row(get(row, "org_id")?), status, get(row, "attempt")?))
    })
}

pub(crate) fn last(c: &Connection, id: &RunId) -> StoreResult<Option<Pause>> {
    one(
        c,
        "SELECT attempt, state, callback FROM pauses WHERE run_id = ?1 AND state IS NOT NULL ORDER BY attempt DESC LIMIT 1",
        [id.as_str()],
        |row| {
            Ok(Pause {
                attempt: row.get(0).map_err(database)?,
                state: row.get(1).map_err(database)?,
                callback: row.get(2).map_err(database)?,
            })
        },
    )
}

pub(crate) fn cancel(
    c: &Connection,
    org: &OrgId,
    id: &RunId,
    now: Timestamp,
) -> StoreResult<Option<RunStatus>> {
    let found = one(
        c,
        "SELECT status FROM runs WHERE id = ?1 AND org_id = ?2",
        [id.as_str(), org.as_str()],
        |row| row.get::<_, String>(0).map_err(database),
    )?;
    let Some(status) = found.as_deref().and_then(RunStatus::parse) else { return Ok(None) };
    if matches!(status, RunStatus::Queued | RunStatus::Paused) {
        execute(
            c,
            "UPDATE runs SET status = 'cancelled', finished_at = ?2 WHERE id = ?1",
            params![id.as_str(), now.ms()],
        )?;
        execute(c, "UPDATE pauses SET wake_at = NULL WHERE run_id = ?1", [id.as_str()])?;
    }
    Ok(Some(status))
}

/// Runs that wait in a state, said as its partial index has it; one condition for both states would
/// fit neither index, and read what has ended.
struct Waiting {
    index: &'static str,
    status: &'static str,
}

const WAITING: [Waiting; 2] = [
    Waiting { index: "runs_paused", status: "status = 'paused'" },
    Waiting {
        index: "runs_unfinished",
        status: "status IN ('queued', 'running') AND status = 'queued'",
    },
];

/// When the newest run of an owner was accepted, where it is the organization's and more than `few`
/// of its runs wait in a state.
pub(crate) fn newest_of_many(
    c: &Connection,
    org: &OrgId,
    owner: &str,
    few: u32,
) -> StoreResult<Option<i64>> {
    for waiting in WAITING {
        let sql = format!(
            "SELECT 1 FROM runs INDEXED BY {} WHERE owner_id = ?1 AND {} LIMIT 1 OFFSET ?2",
            waiting.index, waiting.status
        );
        if one(c, &sql, params![owner, few], |_| Ok(()))?.is_some() {
            // An owner is of one organization: what its first run says holds for all.
            let sql = "SELECT max(created_at) FROM runs WHERE owner_id = ?1 AND (SELECT org_id FROM runs WHERE owner_id = ?1 LIMIT 1) = ?2";
            return one(c, sql, [owner, org.as_str()], |row| row.get(0).map_err(database))
                .map(Option::flatten);
        }
    }
    Ok(None)
}

/// Cancels runs that wait and were accepted no later than `upto`, at most `limit` in each state;
/// how many.
pub(crate) fn cancel_some(
    c: &Connection,
    owner: &str,
    upto: i64,
    limit: u32,
) -> StoreResult<usize> {
    let mut cancelled = 0;
    for waiting in WAITING {
        let sql = format!(
            "SELECT id FROM runs INDEXED BY {} WHERE owner_id = ?1 AND {} AND created_at <= ?2 LIMIT ?3",
            waiting.index, waiting.status
        );
        let ids: Vec<String> =
            many(c, &sql, params![owner, upto, limit], |row| row.get(0).map_err(database))?;
        for id in &ids {
            execute(
                c,
                "UPDATE runs SET status = 'cancelled', finished_at = created_at WHERE id = ?1",
                [id],
            )?;
            execute(
                c,
                "UPDATE pauses SET wake_at = NULL WHERE run_id = ?1 AND wake_at IS NOT NULL",
                [id],
            )?;
        }
        cancelled += ids.len();
    }
    Ok(cancelled)
}

/// All runs of an owner that is gone and waits for nothing else.
pub(crate) fn cancel_waiting(c: &Connection, owner: &str) -> StoreResult<()> {
    execute(
        c,
        "UPDATE pauses SET wake_at = NULL WHERE wake_at IS NOT NULL AND run_id IN (SELECT id FROM runs WHERE owner_id = ?1 AND status = 'paused')",
        [owner],
    )?;
    for waiting in WAITING {
        let sql = format!(
            "UPDATE runs INDEXED BY {} SET status = 'cancelled', finished_at = created_at WHERE owner_id = ?1 AND {}",
            waiting.index, waiting.status
        );
        execute(c, &sql, [owner])?;
    }
    Ok(())
}
