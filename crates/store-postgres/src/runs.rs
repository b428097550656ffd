//! Accepting, claiming, renewing, releasing runs.

use std::collections::HashSet;

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::run::{NewRun, Run, Start};
use millrace_store::{
    Claim, Settlement, StoreError, StoreResult, Unstored, run_row_columns, shared_events,
};

use crate::db::{database, text};
use crate::rows::{self, execute, many};

/// What a process took to send and died with: nobody else does it, so it is due at once.
const CLAIMED_AND_NEVER_TRIED: &[&str] = &[
    "UPDATE webhook_deliveries SET next_at = created_at WHERE status = 'queued' AND attempts = 0 AND next_at > created_at",
    "UPDATE deliveries SET next_at = created_at WHERE status = 'queued' AND attempts = 0 AND next_at > created_at",
    "UPDATE mail SET next_at = created_at WHERE status = 'queued' AND attempts = 0 AND next_at > created_at",
];

/// What node `$1` may claim: a queued run that names another is that one's as long as it is there.
pub(crate) const MAY_CLAIM: &str = "(node IS NULL OR node = $1 OR status <> 'queued' OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = runs.node AND alive_until > now()))";

/// How far the clocks of servers may be apart, milliseconds. A lease that ends later than one of a
/// server whose clock is ahead by so much is of a clock that was wrong.
const CLOCKS_APART_MS: i64 = 60_000;

/// Whether nobody holds a running run at the parameters `now` and `far` (see [`far`]): its lease
/// ended, or is of a clock that was wrong, as its end is too far off, and its node is gone. One
/// that is there renews it, and would go on with what another took.
pub(crate) fn lease_ended(now: &str, far: &str) -> String {
    format!(
        "(lease_until < {now} OR (lease_until > {far} AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = runs.node AND alive_until > now())))"
    )
}

/// What no lease of a right clock ends after: those of all servers are of one length.
pub(crate) fn far(claim: Claim<'_>) -> i64 {
    claim.lease_until.plus_ms(CLOCKS_APART_MS).ms()
}

/// See [`insert_ended`].
pub(crate) const INSERT_ENDED: &str = "INSERT INTO runs (id, org_id, owner_id, deployment_id, kind, trigger_id, event, context, status, attempt, node, created_at, started_at, result, finished_at, error, error_class, error_group)
     SELECT n.id, n.org_id, n.owner_id, n.deployment_id, n.kind, n.trigger_id, n.event, n.context, n.status, n.attempt, n.node, n.created_at, n.created_at, n.result, n.finished_at, n.error, n.error_class, n.error_group
     FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[], $12::bigint[], $13::text[], $14::bigint[], $15::text[], $16::text[], $17::text[])
       AS n (id, org_id, owner_id, deployment_id, kind, trigger_id, event, context, status, attempt, node, created_at, result, finished_at, error, error_class, error_group)";

/// Writes runs that were not stored while they were under way, as they ended.
pub(crate) async fn insert_ended(c: &impl GenericClient, ends: &[Settlement]) -> StoreResult<()> {
    let rows: Vec<(&Settlement, &Unstored)> =
        ends.iter().filter_map(|end| Some((end, &**end.unstored.as_ref()?))).collect();
    macro_rules! column {
        (|$end:ident, $unstored:ident| $value:expr) => {
            &rows.iter().map(|&($end, $unstored)| $value).collect::<Vec<_>>()
        };
    }
    let classes: Vec<_> = rows.iter().map(|(end, _)| end.error_class()).collect();
    execute(
        c,
        INSERT_ENDED,
        &[
            column!(|_end, u| u.run.id.as_str()),
            column!(|_end, u| u.run.org_id.as_str()),
            column!(|_end, u| u.run.owner.as_str()),
            column!(|_end, u| u.run.deployment_id.as_ref().map(|d| d.as_str())),
            column!(|_end, u| u.run.kind.as_str()),
            column!(|_end, u| u.run.trigger_id.as_str()),
            column!(|end, u| end.forget.as_deref().unwrap_or(&u.run.event)),
            column!(|_end, u| u.run.context.as_str()),
            column!(|end, _u| end.status.as_str()),
            column!(|end, _u| end.attempt),
            column!(|_end, u| u.node.as_str()),
            column!(|_end, u| u.run.created_at.ms()),
            column!(|end, _u| end.result.as_str()),
            column!(|end, _u| end.finished_at.ms()),
            column!(|end, _u| end.error.as_deref()),
            &classes.iter().map(|class| class.as_deref().map(text)).collect::<Vec<_>>(),
            column!(|end, _u| end.group.as_ref().map(|group| group.id.as_str())),
        ],
    )
    .await?;
    Ok(())
}

/// Writes runs, any number of them in one statement. `node`: who runs them; of runs that wait, who
/// should.
pub(crate) async fn insert(
    c: &impl GenericClient,
    runs: &[NewRun],
    node: Option<&str>,
) -> StoreResult<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let column = |value: fn(&NewRun) -> &str| runs.iter().map(value).collect::<Vec<&str>>();
    let (ids, orgs, owners) =
        (column(|r| r.id.as_str()), column(|r| r.org_id.as_str()), column(|r| r.owner.as_str()));
    let (kinds, triggers, contexts) =
        (column(|r| r.kind.as_str()), column(|r| &r.trigger_id), column(|r| &r.context));
    let shared = shared_events(runs);
    insert_shared(c, runs, &shared).await?;
    let events: Vec<&str> = runs
        .iter()
        .zip(&shared)
        .map(|(r, shared)| if shared.is_some() { "" } else { &*r.event })
        .collect();
    let deployments: Vec<Option<&str>> =
        runs.iter().map(|r| r.deployment_id.as_ref().map(|d| d.as_str())).collect();
    let results: Vec<Option<&str>> = runs.iter().map(|r| r.result.as_deref()).collect();
    let created: Vec<i64> = runs.iter().map(|r| r.created_at.ms()).collect();
    let leases: Vec<Option<i64>> = runs
        .iter()
        .map(|r| match r.start {
            Start::Queued => None,
            Start::Claimed { lease_until } => Some(lease_until.ms()),
        })
        .collect();
    let replays: Vec<Option<&str>> =
        runs.iter().map(|r| r.replays.as_ref().map(|original| original.id.as_str())).collect();
    let edited: Vec<bool> = runs
        .iter()
        .map(|r| r.replays.as_ref().is_some_and(|original| original.event_edited))
        .collect();
    const INSERT: &str = "INSERT INTO runs (id, org_id, owner_id, deployment_id, kind, trigger_id, event, shared_event, context, result, created_at, lease_until, status, attempt, node, started_at)
         SELECT n.*, CASE WHEN n.lease_until IS NULL THEN 'queued' ELSE 'running' END, CASE WHEN n.lease_until IS NULL THEN 0 ELSE 1 END,
                $13::text, CASE WHEN n.lease_until IS NULL THEN NULL ELSE n.created_at END
         FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[])
           AS n (id, org_id, owner_id, deployment_id, kind, trigger_id, event, shared_event, context, result, created_at, lease_until)";
    if replays.iter().all(Option::is_none) {
        execute(
            c,
            INSERT,
            &[
                &ids,
                &orgs,
                &owners,
                &deployments,
                &kinds,
                &triggers,
                &events,
                &shared,
                &contexts,
                &results,
                &created,
                &leases,
                &node,
            ],
        )
        .await?;
        return Ok(());
    }
    let sql = format!(
        "WITH accepted AS ({INSERT}) INSERT INTO replayed_runs (replay_id, original_id, run_id, event_edited)
         SELECT r.id, r.original, r.id, r.edited FROM UNNEST($1::text[], $14::text[], $15::boolean[]) AS r (id, original, edited) WHERE r.original IS NOT NULL"
    );
    execute(
        c,
        &sql,
        &[
            &ids,
            &orgs,
            &owners,
            &deployments,
            &kinds,
            &triggers,
            &events,
            &shared,
            &contexts,
            &results,
            &created,
            &leases,
            &node,
            &replays,
            &edited,
        ],
    )
    .await?;
    Ok(())
}

/// Writes the events that several of the runs have, each once.
async fn insert_shared(
    c: &impl GenericClient,
    runs: &[NewRun],
    shared: &[Option<&str>],
) -> StoreResult<()> {
    let (ids, events): (Vec<&str>, Vec<&str>) = runs
        .iter()
        .zip(shared)
        .filter(|(run, shared)| **shared == Some(run.id.as_str()))
        .map(|(run, _)| (run.id.as_str(), &*run.event))
        .unzip();
    if ids.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO shared_events (id, event) SELECT * FROM UNNEST($1::text[], $2::text[])";
    execute(c, sql, &[&ids, &events]).await?;
    Ok(())
}

/// Owners whose runs wait, as many as there are runs to be claimed at most: those behind `after`,
/// then the others; and which of them have limits.
pub(crate) async fn owners_in_turn(
    c: &Client,
    claim: Claim<'_>,
) -> StoreResult<Vec<(String, bool)>> {
    // From one owner to the next by the index, however many runs each has.
    let sql = format!(
        "WITH RECURSIVE turns (owner_id) AS (
           SELECT (SELECT owner_id FROM runs WHERE status IN ('queued', 'running') ORDER BY owner_id LIMIT 1)
           UNION ALL
           SELECT (SELECT owner_id FROM runs WHERE status IN ('queued', 'running') AND owner_id > turns.owner_id ORDER BY owner_id LIMIT 1)
           FROM turns WHERE turns.owner_id IS NOT NULL)
         SELECT owner_id, EXISTS (SELECT 1 FROM run_limits WHERE run_limits.owner_id = turns.owner_id) FROM turns
         WHERE owner_id IS NOT NULL AND NOT owner_id = ANY($2) AND EXISTS (
           SELECT 1 FROM runs WHERE status IN ('queued', 'running') AND runs.owner_id = turns.owner_id AND (status = 'queued' OR {}))",
        lease_ended("$1", "$3")
    );
    let all: Vec<(String, bool)> =
        many(c, &sql, &[&claim.now.ms(), &claim.passed_over, &far(claim)], |row| {
            Ok((row.try_get(0).map_err(database)?, row.try_get(1).map_err(database)?))
        })
        .await?;
    // Compared here: the database's order may be that of a language.
    let (first, behind): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(owner, _)| owner.as_str() <= claim.after);
    Ok(behind.into_iter().chain(first).take(claim.limit as usize).collect())
}

/// Runs of owners without limits, at most `share` of each. Rows that another server is claiming are
/// passed over, not waited for; those that something refers to just then (`FOR KEY SHARE`, as of
/// the search index) are not. MATERIALIZED, so that the rows are picked and locked once, however
/// the update is planned.
pub(crate) async fn claim(
    c: &Client,
    owners: &[String],
    claim: Claim<'_>,
    share: u32,
) -> StoreResult<Vec<Run>> {
    let ended = lease_ended("$3", "$7");
    let sql = format!(
        "WITH picked AS MATERIALIZED (
           SELECT r.id AS picked_id FROM UNNEST($5::text[]) AS o (turn_of) CROSS JOIN LATERAL (
             SELECT id FROM runs WHERE status IN ('queued', 'running') AND (status = 'queued' OR {ended}) AND owner_id = o.turn_of AND {MAY_CLAIM}
             ORDER BY created_at, id LIMIT $6 FOR NO KEY UPDATE SKIP LOCKED) AS r
           LIMIT $4)
         UPDATE runs SET status = 'running', attempt = attempt + 1, node = $1, lease_until = $2, started_at = $3
         FROM picked WHERE id = picked_id RETURNING {}",
        run_row_columns()
    );
    rows::claimed(
        c,
        "runs",
        &sql,
        &[
            &claim.node,
            &claim.lease_until.ms(),
            &claim.now.ms(),
            &i64::from(claim.limit),
            &owners,
            &i64::from(share),
            &far(claim),
        ],
        rows::run,
    )
    .await
}

/// RETURNING gives no order.
pub(crate) fn oldest_first(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    runs
}

/// All in one statement; SQLite, where a statement costs no round trip, goes through them one by
/// one.
pub(crate) async fn renew(
    t: &Transaction<'_>,
    held: &[(RunId, i64)],
    lease_until: Timestamp,
) -> StoreResult<Vec<RunId>> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, attempts): (Vec<&str>, Vec<i64>) =
        held.iter().map(|(id, attempt)| (id.as_str(), *attempt)).unzip();
    let kept: HashSet<(String, i64)> = many(
        t,
        "UPDATE runs SET lease_until = $3 FROM UNNEST($1::text[], $2::bigint[]) AS h (held_id, held_attempt)
         WHERE id = held_id AND attempt = held_attempt AND status || '' = 'running' RETURNING id, attempt",
        &[&ids, &attempts, &lease_until.ms()],
        |row| Ok((row.try_get(0).map_err(database)?, row.try_get(1).map_err(database)?)),
    )
    .await?
    .into_iter()
    .collect();
    Ok(held
        .iter()
        .filter(|(id, attempt)| !kept.contains(&(id.to_string(), *attempt)))
        .map(|(id, _)| id.clone())
        .collect())
}

pub(crate) async fn release(
    c: &Client,
    id: &RunId,
    attempt: i64,
    count_attempt: bool,
) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE runs SET status = 'queued', lease_until = NULL, node = NULL, attempt = attempt - $3 WHERE id = $1 AND attempt = $2 AND status || '' = 'running'",
        &[&id.as_str(), &attempt, &i64::from(!count_attempt)],
    )
    .await?;
    if changed == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}

pub(crate) async fn requeue_running(t: &Transaction<'_>, node: Option<&str>) -> StoreResult<u64> {
    if node.is_none() {
        for sql in CLAIMED_AND_NEVER_TRIED {
            execute(t, sql, &[]).await?;
        }
    }
    execute(t, "UPDATE runs SET status = 'queued', lease_until = NULL, node = NULL WHERE status = 'running' AND ($1::text IS NULL OR node = $1)", &[&node])
        .await
}

pub(crate) async fn keep_progress(
    c: &Client,
    id: &RunId,
    attempt: i64,
    result: &str,
) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE runs SET result = $3 WHERE id = $1 AND attempt = $2 AND status || '' = 'running'",
        &[&id.as_str(), &attempt, &result],
    )
    .await?;
    if changed == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}
