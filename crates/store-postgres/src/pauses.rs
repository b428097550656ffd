//! Pauses: how they begin and end. The run's row says whether it is paused, this table the rest.
//!
//! Each change of a pause locks the run's row first: a request that comes while an attempt ends is
//! seen by it, or sees it ended.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::RunStatus;
use millrace_store::{
    Callback, CalledBack, Pause, PauseEnd, Pausing, StoreError, StoreResult, Woken,
};

use crate::db::database;
use crate::rows::{corrupt, execute, get, many, one};
use crate::settle;

pub(crate) async fn pause(t: &Transaction<'_>, p: &Pausing) -> StoreResult<RunStatus> {
    let held = execute(
        t,
        "UPDATE runs SET status = 'paused', result = $3, lease_until = NULL, node = NULL WHERE id = $1 AND attempt = $2 AND status || '' = 'running'",
        &[&p.run_id.as_str(), &p.attempt, &p.result],
    )
    .await?;
    if held == 0 {
        return Err(StoreError::Fenced);
    }
    // What came before the attempt ended is there already.
    let early = one(
        t,
        "INSERT INTO pauses (run_id, attempt, wake_at, wake_cancels, state, callback_cancels) VALUES ($1, $2, $3, $4, $5, FALSE)
         ON CONFLICT (run_id, attempt) DO UPDATE SET state = excluded.state RETURNING CASE WHEN callback IS NOT NULL THEN callback_cancels END",
        &[&p.run_id.as_str(), &p.attempt, &p.wake_at.ms(), &(p.then == PauseEnd::Cancel), &p.state],
        |row| row.try_get::<_, Option<bool>>(0).map_err(database),
    )
    .await?;
    settle::effects(t, &p.effects).await?;
    match early.flatten() {
        Some(cancels) => end(t, &p.run_id, cancels, p.now).await,
        None => Ok(RunStatus::Paused),
    }
}

/// Ends the pause of a run that is paused.
async fn end(
    t: &Transaction<'_>,
    id: &RunId,
    cancels: bool,
    now: Timestamp,
) -> StoreResult<RunStatus> {
    let (status, finished_at) =
        if cancels { (RunStatus::Cancelled, Some(now.ms())) } else { (RunStatus::Queued, None) };
    execute(
        t,
        "UPDATE runs SET status = $2, finished_at = $3 WHERE id = $1 AND status || '' = 'paused'",
        &[&id.as_str(), &status.as_str(), &finished_at],
    )
    .await?;
    Ok(status)
}

/// Runs that another server is waking are passed over, not waited for.
pub(crate) async fn wake(c: &Client, now: Timestamp, limit: u32) -> StoreResult<Woken> {
    let woken: Vec<bool> = many(
        c,
        "WITH due AS MATERIALIZED (
           SELECT p.run_id AS due_id, p.attempt AS due_attempt, p.wake_cancels AS cancels FROM pauses p JOIN runs r ON r.id = p.run_id
           WHERE p.wake_at <= $1 AND r.status = 'paused' ORDER BY p.wake_at LIMIT $2 FOR NO KEY UPDATE OF r SKIP LOCKED),
         woken AS (UPDATE pauses SET wake_at = NULL FROM due WHERE run_id = due_id AND attempt = due_attempt)
         UPDATE runs SET status = CASE WHEN cancels THEN 'cancelled' ELSE 'queued' END, finished_at = CASE WHEN cancels THEN $1 END
         FROM due WHERE id = due_id AND attempt = due_attempt AND status = 'paused' RETURNING cancels",
        &[&now.ms(), &i64::from(limit)],
        |row| row.try_get(0).map_err(database),
    )
    .await?;
    let cancelled = woken.iter().filter(|cancels| **cancels).count() as u64;
    Ok(Woken { resumed: woken.len() as u64 - cancelled, cancelled })
}

pub(crate) async fn next_wake_at(c: &Client) -> StoreResult<Option<Timestamp>> {
    one(
        c,
        "SELECT wake_at FROM pauses WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1",
        &[],
        |row| row.try_get(0).map(Timestamp).map_err(database),
    )
    .await
}

pub(crate) async fn call_back(t: &Transaction<'_>, b: &Callback) -> StoreResult<CalledBack> {
    let found = one(
        t,
        "SELECT status, attempt FROM runs WHERE id = $1 FOR UPDATE",
        &[&b.run_id.as_str()],
        |row| {
            Ok((
                row.try_get::<_, String>(0).map_err(database)?,
                row.try_get::<_, i64>(1).map_err(database)?,
            ))
        },
    )
    .await?;
    let Some((status, attempt)) = found else { return Ok(CalledBack::Unknown) };
    let cancels = b.end == PauseEnd::Cancel;
    match RunStatus::parse(&status) {
        Some(RunStatus::Paused) if attempt == b.attempt => {
            // A pause that is over is not begun anew by who comes before the scheduler.
            let held = execute(
                t,
                "UPDATE pauses SET wake_at = NULL, callback = $3, callback_cancels = $4 WHERE run_id = $1 AND attempt = $2 AND wake_at > $5",
                &[&b.run_id.as_str(), &b.attempt, &b.request, &cancels, &b.now.ms()],
            )
            .await?;
            if held == 0 {
                return Ok(CalledBack::TooLate);
            }
            end(t, &b.run_id, cancels, b.now).await?;
            Ok(CalledBack::Done)
        }
        Some(RunStatus::Running) if attempt == b.attempt => {
            let kept = execute(
                t,
                "INSERT INTO pauses (run_id, attempt, wake_cancels, callback, callback_cancels) VALUES ($1, $2, FALSE, $3, $4)
                 ON CONFLICT (run_id, attempt) DO NOTHING",
                &[&b.run_id.as_str(), &b.attempt, &b.request, &cancels],
            )
            .await?;
            Ok(if kept > 0 { CalledBack::Kept } else { CalledBack::TooLate })
        }
        _ => Ok(CalledBack::TooLate),
    }
}

pub(crate) async fn run_attempt(
    c: &impl GenericClient,
    id: &RunId,
) -> StoreResult<Option<(OrgId, RunStatus, i64)>> {
    let sql = "SELECT org_id, status, attempt FROM runs WHERE id = $1";
    one(c, sql, &[&id.as_str()], |row| {
        let status = RunStatus::parse(get(row, "status")?).ok_or_else(|| corrupt("status"))?;
        Ok((OrgId::from_row(get(row, "org_id")?), status, get(row, "attempt")?))
    })
    .await
}

pub(crate) async fn last(c: &impl GenericClient, id: &RunId) -> StoreResult<Option<Pause>> {
    let sql = "SELECT attempt, state, callback FROM pauses WHERE run_id = $1 AND state IS NOT NULL ORDER BY attempt DESC LIMIT 1";
    one(c, sql, &[&id.as_str()], |row| {
        Ok(Pause {
            attempt: row.try_get(0).map_err(database)?,
            state: row.try_get(1).map_err(database)?,
            callback: row.try_get(2).map_err(database)?,
        })
    })
    .await
}

pub(crate) async fn cancel(
    t: &Transaction<'_>,
    org: &OrgId,
    id: &RunId,
    now: Timestamp,
) -> StoreResult<Option<RunStatus>> {
    let found = one(
        t,
        "SELECT status FROM runs WHERE id = $1 AND org_id = $2 FOR UPDATE",
        &[&id.as_str(), &org.as_str()],
        |row| row.try_get::<_, String>(0).map_err(database),
    )
    .await?;
    let Some(status) = found.as_deref().and_then(RunStatus::parse) else { return Ok(None) };
    if matches!(status, RunStatus::Queued | RunStatus::Paused) {
        execute(
            t,
            "UPDATE runs SET status = 'cancelled', finished_at = $2 WHERE id = $1",
            &[&id.as_str(), &now.ms()],
        )
        .await?;
        execute(t, "UPDATE pauses SET wake_at = NULL WHERE run_id = $1", &[&id.as_str()]).await?;
    }
    Ok(Some(status))
}

/// All runs of an owner that is gone and waits for nothing else.
pub(crate) async fn cancel_waiting(t: &Transaction<'_>, owner: &str) -> StoreResult<()> {
    // State by state, as the partial indexes are.
    for waiting in ["status = 'paused'", "status IN ('queued', 'running') AND status = 'queued'"] {
        let sql = format!(
            "WITH gone AS (UPDATE runs SET status = 'cancelled', finished_at = created_at WHERE owner_id = $1 AND {waiting} RETURNING id)
             UPDATE pauses SET wake_at = NULL FROM gone WHERE wake_at IS NOT NULL AND run_id = gone.id"
        );
        execute(t, &sql, &[&owner]).await?;
    }
    Ok(())
}
