//! Limits of owners' runs: those that have any are claimed owner by owner, counted under a lock of
//! the owner's row.

use deadpool_postgres::{GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::limits::{RunLimits, Window};
use millrace_model::run::{NewRun, Run};
use millrace_store::{Claim, StoreError, StoreResult, run_row_columns};

use crate::db::{database, unwritable};
use crate::rows::{self, execute, many, number, one};
use crate::runs::{self, MAY_CLAIM, far, lease_ended};

/// How long the number of an owner's waiting runs is believed: a transaction that was under way
/// when they were first counted is not in it.
const RECOUNT_SECONDS: f64 = 60.0;
/// Adds what came and went to the number of an owner's waiting runs, and gives it.
const ADD_UP: &str = "WITH gone AS (DELETE FROM run_waiting WHERE owner_id = $1 RETURNING change)
    UPDATE run_limits SET waiting = waiting + (SELECT coalesce(sum(change), 0) FROM gone) WHERE owner_id = $1 RETURNING waiting";
/// Counts all of an owner's waiting runs. What is not committed yet is neither counted nor taken
/// away.
const COUNT: &str = "WITH gone AS (DELETE FROM run_waiting WHERE owner_id = $1)
    UPDATE run_limits SET counted_at = now(),
      waiting = (SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND runs.owner_id = $1)
    WHERE owner_id = $1 RETURNING waiting";

/// The limits of an owner from now on. Its window goes on, so that a new deployment is no way
/// around a throttle.
pub(crate) async fn replace(
    t: &Transaction<'_>,
    owner: &str,
    limits: Option<&RunLimits>,
) -> StoreResult<()> {
    match limits {
        Some(limits) => {
            let limits = serde_json::to_string(limits).map_err(unwritable)?;
            let sql = "INSERT INTO run_limits (owner_id, limits, window_at, window_runs) VALUES ($1, $2, 0, 0)
                       ON CONFLICT (owner_id) DO UPDATE SET limits = excluded.limits";
            execute(t, sql, &[&owner, &limits]).await?
        }
        None => {
            execute(t, "DELETE FROM run_limits WHERE owner_id = $1", &[&owner]).await?;
            execute(t, "DELETE FROM run_waiting WHERE owner_id = $1", &[&owner]).await?
        }
    };
    Ok(())
}

/// Claims the oldest `$4` runs of owner `$5`, and of those no more than up to the first that cannot
/// be had now: none starts in the place of one that came before it.
///
/// Nothing waits for a lock: neither for the owner's row nor for a run's. So the order in which a
/// cancellation, a settlement or a renewal locks rows makes no deadlock with a claim, and a server
/// that hangs within a transaction stops no claim of other owners. A run whose row somebody is
/// changing (it is being cancelled, say) is claimed in the next round, and those behind it with it.
/// References to a run (`FOR KEY SHARE`, as of the search index) are no such change and do not
/// conflict with `FOR NO KEY UPDATE`.
fn oldest(limits: &RunLimits) -> String {
    // In order, what another server must run is no reason to start one that came later.
    let (is_looked_at, may_claim) = if limits.in_order || limits.concurrency == Some(1) {
        ("TRUE", MAY_CLAIM)
    } else {
        (MAY_CLAIM, "TRUE")
    };
    let ended = lease_ended("$3", "$6");
    // The lock is taken by id: another status than the first look found is seen then.
    format!(
        "WITH oldest AS MATERIALIZED (
           SELECT id AS oldest_id, created_at AS at, {may_claim} AS is_ours FROM runs
           WHERE status IN ('queued', 'running') AND (status = 'queued' OR {ended}) AND owner_id = $5 AND {is_looked_at}
           ORDER BY created_at, id LIMIT $4),
         locked AS MATERIALIZED (
           SELECT id AS locked_id FROM runs WHERE id = ANY (ARRAY(SELECT oldest_id FROM oldest))
             AND (status || '' = 'queued' OR (status || '' = 'running' AND {ended})) FOR NO KEY UPDATE SKIP LOCKED),
         picked AS (
           SELECT oldest_id AS picked_id, bool_and(is_ours AND locked_id IS NOT NULL) OVER (ORDER BY at, oldest_id) AS is_next
           FROM oldest LEFT JOIN locked ON locked_id = oldest_id)
         UPDATE runs SET status = 'running', attempt = attempt + 1, node = $1, lease_until = $2, started_at = $3
         FROM picked WHERE id = picked_id AND is_next RETURNING {}",
        run_row_columns()
    )
}

/// Claims runs of these owners, as far as their limits leave room. An owner whose runs another
/// server is claiming is passed over.
pub(crate) async fn claim(
    t: &Transaction<'_>,
    owners: &[String],
    claim: Claim<'_>,
    share: u32,
) -> StoreResult<Vec<Run>> {
    let mut claimed = Vec::new();
    for owner in owners {
        let locked = "SELECT limits, window_at, window_runs FROM run_limits WHERE owner_id = $1 FOR UPDATE SKIP LOCKED";
        let read = |row: &tokio_postgres::Row| {
            // What cannot be read holds back nobody else's runs, and its own as far as it may.
            let limits = millrace_model::json::from_str(row.try_get(0).map_err(database)?)
                .unwrap_or(RunLimits { concurrency: Some(1), throttle: None, in_order: true });
            Ok((
                limits,
                Window {
                    began_at: Timestamp(row.try_get(1).map_err(database)?),
                    runs: row.try_get(2).map_err(database)?,
                },
            ))
        };
        let Some((limits, window)) = one(t, locked, &[owner], read).await? else { continue };
        // A statement of its own: it sees what was claimed before the lock was ours.
        let under_way = format!(
            "SELECT count(*) FROM runs WHERE status = 'running' AND NOT {} AND owner_id = $1",
            lease_ended("$2", "$3")
        );
        let (room, window) = limits.room(
            number(t, &under_way, &[owner, &claim.now.ms(), &far(claim)]).await?,
            window,
            claim.now,
        );
        let take = room.min(i64::from(share)).min(i64::from(claim.limit) - claimed.len() as i64);
        if take > 0 {
            let sql = oldest(&limits);
            let runs = rows::claimed(
                t,
                "runs",
                &sql,
                &[&claim.node, &claim.lease_until.ms(), &claim.now.ms(), &take, owner, &far(claim)],
                rows::run,
            )
            .await?;
            let started = window.runs.saturating_add(runs.len() as i64);
            // What came and went is added up here as well: some owners' runs come by no accept that
            // looks.
            let sql = "WITH gone AS (DELETE FROM run_waiting WHERE owner_id = $1 RETURNING change)
                UPDATE run_limits SET window_at = $2, window_runs = $3, waiting = waiting + (SELECT coalesce(sum(change), 0) FROM gone) WHERE owner_id = $1";
            execute(t, sql, &[owner, &window.began_at.ms(), &started]).await?;
            claimed.extend(runs);
        }
    }
    Ok(claimed)
}

/// Queues a run unless so many of its owner's wait already; accepts of one owner go one after the
/// other. Where it has limits, their number is kept: what came and went since is added up, under
/// the lock of the owner's row. Else no more are counted than may wait, and none where any number
/// may.
pub(crate) async fn accept(
    t: &Transaction<'_>,
    run: &NewRun,
    queue_max: u32,
    node: Option<&str>,
) -> StoreResult<()> {
    if queue_max < u32::MAX {
        let owner = run.owner.as_str();
        let locked = "SELECT coalesce(counted_at > now() - make_interval(secs => $2), false) FROM run_limits WHERE owner_id = $1 FOR UPDATE";
        let is_known = one(t, locked, &[&owner, &RECOUNT_SECONDS], |row| {
            row.try_get::<_, bool>(0).map_err(database)
        })
        .await?;
        // A statement of its own: it sees what was accepted before the lock was ours.
        let waiting = match is_known {
            Some(true) => number(t, ADD_UP, &[&owner]).await?,
            Some(false) => number(t, COUNT, &[&owner]).await?,
            None => {
                let queued = "SELECT count(*) FROM (SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND owner_id = $1 LIMIT $2) AS waiting";
                number(t, queued, &[&owner, &i64::from(queue_max)]).await?
            }
        };
        if waiting >= i64::from(queue_max) {
            return Err(StoreError::QueueFull);
        }
    }
    runs::insert(t, std::slice::from_ref(run), node).await
}

/// Owners of which at least so many runs wait. They are counted: the number that is kept may be
/// behind.
pub(crate) async fn full(c: &impl GenericClient, waiting: u32) -> StoreResult<Vec<String>> {
    let sql = "SELECT owner_id FROM run_limits AS l WHERE (SELECT count(*) FROM
        (SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND status = 'queued' AND owner_id = l.owner_id LIMIT $1) AS waiting) >= $1";
    many(c, sql, &[&i64::from(waiting)], |row| row.try_get(0).map_err(database)).await
}
