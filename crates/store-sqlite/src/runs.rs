//! Accepting, claiming, renewing, releasing runs.

use millrace_model::clock::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::run::{NewRun, Run, Start};
use millrace_store::{
    Claim, Settlement, StoreError, StoreResult, Unstored, run_row_columns, shared_events,
};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::limits;
use crate::rows::{self, execute, many};

/// What a process took to send and died with: nobody else does it, so it is due at once.
const CLAIMED_AND_NEVER_TRIED: &[&str] = &[
    "UPDATE webhook_deliveries SET next_at = created_at WHERE status = 'queued' AND attempts = 0 AND next_at > created_at",
    "UPDATE deliveries SET next_at = created_at WHERE status = 'queued' AND attempts = 0 AND next_at > created_at",
    "UPDATE mail SET next_at = created_at WHERE status = 'queued' AND attempts = 0 AND next_at > created_at",
];

/// `node`: who runs it, where it starts claimed.
pub(crate) fn insert(c: &Connection, r: &NewRun, node: Option<&str>) -> StoreResult<()> {
    write(c, r, None, node, None)
}

/// Writes runs that wait. An event that several of them have is written once.
pub(crate) fn insert_all(c: &Connection, runs: &[NewRun]) -> StoreResult<()> {
    for (run, shared) in runs.iter().zip(shared_events(runs)) {
        if shared == Some(run.id.as_str()) {
            let sql = "INSERT INTO shared_events (id, event) VALUES (?1, ?2)";
            execute(c, sql, params![run.id.as_str(), run.event])?;
        }
        write(c, run, shared, None, None)?;
    }
    Ok(())
}

/// A run that was not stored while it was under way, as it ended.
pub(crate) fn insert_ended(c: &Connection, u: &Unstored, end: &Settlement) -> StoreResult<()> {
    write(c, &u.run, None, Some(&u.node), Some(end))
}

/// `shared`: the id of the shared event, in place of one of its own.
fn write(
    c: &Connection,
    r: &NewRun,
    shared: Option<&str>,
    node: Option<&str>,
    end: Option<&Settlement>,
) -> StoreResult<()> {
    let (status, attempt, lease, started) = match (r.start, end) {
        (Start::Queued, _) => ("queued", 0, None, None),
        (Start::Claimed { .. }, Some(end)) => {
            (end.status.as_str(), end.attempt, None, Some(r.created_at.ms()))
        }
        (Start::Claimed { lease_until }, None) => {
            ("running", 1, Some(lease_until.ms()), Some(r.created_at.ms()))
        }
    };
    let group = end.and_then(|e| e.group.as_ref());
    let own = if shared.is_some() { "" } else { &*r.event };
    let event = end.and_then(|e| e.forget.as_deref()).unwrap_or(own);
    execute(
        c,
        "INSERT INTO runs (id, org_id, owner_id, deployment_id, kind, trigger_id, event, context, status, attempt, node, lease_until, created_at, started_at, result, finished_at, error, error_class, error_group, shared_event)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        params![
            r.id.as_str(),
            r.org_id.as_str(),
            r.owner.as_str(),
            r.deployment_id.as_ref().map(|d| d.as_str()),
            r.kind.as_str(),
            r.trigger_id,
            event,
            r.context,
            status,
            attempt,
            node,
            lease,
            r.created_at.ms(),
            started,
            end.map_or(r.result.as_deref(), |e| Some(&e.result)),
            end.map(|e| e.finished_at.ms()),
            end.and_then(|e| e.error.as_deref()),
            end.and_then(Settlement::error_class),
            group.map(|g| g.id.as_str()),
            shared
        ],
    )?;
    if let Some(original) = &r.replays {
        let sql = "INSERT INTO replayed_runs (replay_id, original_id, run_id, event_edited) VALUES (?1, ?2, ?1, ?3)";
        execute(c, sql, params![r.id.as_str(), original.id.as_str(), original.event_edited])?;
    }
    Ok(())
}

/// One writer: no lock is needed to claim, as `FOR UPDATE SKIP LOCKED` is on Postgres.
pub(crate) fn claim(c: &Connection, claim: Claim<'_>) -> StoreResult<Vec<Run>> {
    let mut runs = Vec::new();
    let mut owners = owners_in_turn(c, claim)?;
    let mut left = i64::from(claim.limit);
    while left > 0 && !owners.is_empty() {
        let mut had_their_share = Vec::new();
        let count = owners.len();
        for (n, owner) in owners.into_iter().enumerate() {
            // What one leaves of its share goes to those behind it, and then to those before.
            let share = (left as usize).div_ceil(count - n) as i64;
            let taken = match limits::of(c, &owner)? {
                Some((limits, window)) => limits::claim(c, claim, &owner, (limits, window), share)?,
                None => take(c, claim, &owner, share)?,
            };
            left -= taken.len() as i64;
            if taken.len() as i64 == share {
                had_their_share.push(owner);
            }
            runs.extend(taken);
        }
        owners = had_their_share;
    }
    // RETURNING gives no order.
    runs.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(runs)
}

/// Owners whose runs wait, as many as there are runs to be claimed at most: those behind `after`,
/// then the others. Of those passed over no run is looked at: one that has as many under way as it
/// may has thousands more.
pub(crate) fn owners_in_turn(c: &Connection, claim: Claim<'_>) -> StoreResult<Vec<String>> {
    // From one owner to the next by the index, however many runs each has.
    let sql = "WITH RECURSIVE turns (owner_id) AS (
           SELECT (SELECT owner_id FROM runs WHERE status IN ('queued', 'running') ORDER BY owner_id LIMIT 1)
           UNION ALL
           SELECT (SELECT owner_id FROM runs WHERE status IN ('queued', 'running') AND owner_id > turns.owner_id ORDER BY owner_id LIMIT 1)
           FROM turns WHERE turns.owner_id IS NOT NULL)
         SELECT owner_id FROM turns WHERE owner_id IS NOT NULL AND owner_id NOT IN (SELECT value FROM json_each(?2)) AND EXISTS (
           SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND runs.owner_id = turns.owner_id AND (status = 'queued' OR lease_until < ?1))";
    let passed_over = serde_json::Value::from(claim.passed_over.to_vec()).to_string();
    let all = many(c, sql, params![claim.now.ms(), passed_over], |row| {
        row.get::<_, String>(0).map_err(database)
    })?;
    let (first, behind): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|owner| owner.as_str() <= claim.after);
    Ok(behind.into_iter().chain(first).take(claim.limit as usize).collect())
}

/// Claims the oldest runs of an owner that wait.
pub(crate) fn take(
    c: &Connection,
    claim: Claim<'_>,
    owner: &str,
    limit: i64,
) -> StoreResult<Vec<Run>> {
    let sql = format!(
        "UPDATE runs SET status = 'running', attempt = attempt + 1, node = ?1, lease_until = ?2, started_at = ?3
         WHERE id IN (SELECT id FROM runs WHERE status IN ('queued', 'running') AND (status = 'queued' OR lease_until < ?3) AND owner_id = ?5
                      ORDER BY created_at, id LIMIT ?4)
         RETURNING {}",
        run_row_columns()
    );
    let values = params![claim.node, claim.lease_until.ms(), claim.now.ms(), limit, owner];
    rows::claimed(c, "runs", &sql, values, rows::run)
}

pub(crate) fn renew(
    c: &Connection,
    held: &[(RunId, i64)],
    lease_until: Timestamp,
) -> StoreResult<Vec<RunId>> {
    let mut lost = Vec::new();
    for (id, attempt) in held {
        if execute(
            c,
            "UPDATE runs SET lease_until = ?3 WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
            params![id.as_str(), attempt, lease_until.ms()],
        )? == 0
        {
            lost.push(id.clone());
        }
    }
    Ok(lost)
}

pub(crate) fn release(
    c: &Connection,
    id: &RunId,
    attempt: i64,
    count_attempt: bool,
) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE runs SET status = 'queued', lease_until = NULL, node = NULL, attempt = attempt - ?3 WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
        params![id.as_str(), attempt, i64::from(!count_attempt)],
    )?;
    if changed == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}

pub(crate) fn requeue_running(c: &Connection, node: Option<&str>) -> StoreResult<u64> {
    if node.is_none() {
        for sql in CLAIMED_AND_NEVER_TRIED {
            execute(c, sql, [])?;
        }
    }
    // Both said, so that the partial index is used: a start does not read a history.
    let sql = "UPDATE runs SET status = 'queued', lease_until = NULL, node = NULL
         WHERE status IN ('queued', 'running') AND status = 'running' AND (?1 IS NULL OR node = ?1)";
    let changed = execute(c, sql, [node])?;
    Ok(changed as u64)
}

pub(crate) fn keep_progress(
    c: &Connection,
    id: &RunId,
    attempt: i64,
    result: &str,
) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE runs SET result = ?3 WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
        params![id.as_str(), attempt, result],
    )?;
    if changed == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}
