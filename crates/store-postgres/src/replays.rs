//! Replays of many runs.

use deadpool_postgres::{Client, Transaction};
use millrace_model::ids::ReplayId;
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_store::{ReplayStep, StoreError, StoreResult};

use crate::db::{database, text, unwritable};
use crate::rows::{self, execute, many, number, one};
use crate::runs;

pub(crate) async fn create(c: &Client, r: &Replay) -> StoreResult<()> {
    let (selection, position) = (
        serde_json::to_string(&r.selection).map_err(unwritable)?,
        serde_json::to_string(&r.position).map_err(unwritable)?,
    );
    execute(
        c,
        "INSERT INTO replays (id, org_id, owner_id, selection, status, version, position, total, replayed, skipped, note, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        &[
            &r.id.as_str(),
            &r.org_id.as_str(),
            &r.owner,
            &selection,
            &r.status.as_str(),
            &r.version,
            &position,
            &r.total,
            &r.replayed,
            &r.skipped,
            &r.note.as_deref().map(text),
            &r.created_at.ms(),
            &r.updated_at.ms(),
        ],
    )
    .await?;
    Ok(())
}

/// Compare and set of the version: a step is taken once, and never after the replay was held or
/// ended.
pub(crate) async fn step(t: &Transaction<'_>, step: &ReplayStep) -> StoreResult<()> {
    let r = &step.replay;
    let position = serde_json::to_string(&r.position).map_err(unwritable)?;
    let changed = execute(
        t,
        "UPDATE replays SET status = $3, version = $4, position = $5, replayed = $6, skipped = $7, note = $8, updated_at = $9 WHERE id = $1 AND version = $2",
        &[
            &r.id.as_str(),
            &(r.version - 1),
            &r.status.as_str(),
            &r.version,
            &position,
            &r.replayed,
            &r.skipped,
            &r.note.as_deref().map(text),
            &r.updated_at.ms(),
        ],
    )
    .await?;
    if changed == 0 {
        return Err(StoreError::StateChanged);
    }
    let (originals, new): (Vec<_>, Vec<_>) = step.runs.iter().cloned().unzip();
    let ids: Vec<&str> = new.iter().map(|run| run.id.as_str()).collect();
    let edited: Vec<bool> = originals.iter().map(|original| original.event_edited).collect();
    let originals: Vec<&str> = originals.iter().map(|original| original.id.as_str()).collect();
    runs::insert(t, &new, None).await?;
    execute(
        t,
        "INSERT INTO replayed_runs (replay_id, original_id, run_id, event_edited)
         SELECT $1, o, n, e FROM UNNEST($2::text[], $3::text[], $4::bool[]) AS r (o, n, e)",
        &[&r.id.as_str(), &originals, &ids, &edited],
    )
    .await?;
    Ok(())
}

pub(crate) async fn running(c: &Client, after: &str, limit: u32) -> StoreResult<Vec<Replay>> {
    let sql = format!(
        "SELECT {} FROM replays WHERE status = 'running' ORDER BY id <= $1, id LIMIT $2",
        rows::REPLAY
    );
    rows::claimed(c, "replays", &sql, &[&after, &i64::from(limit)], rows::replay).await
}

pub(crate) async fn counts(c: &Client, id: &ReplayId) -> StoreResult<ReplayCounts> {
    let counts = one(
        c,
        "SELECT count(*) FILTER (WHERE n.status IN ('queued', 'running', 'paused')), count(*) FILTER (WHERE n.status = 'succeeded'),
                count(*) FILTER (WHERE n.status = 'failed'), count(*) FILTER (WHERE n.status = 'cancelled')
         FROM replayed_runs r JOIN runs n ON n.id = r.run_id WHERE r.replay_id = $1",
        &[&id.as_str()],
        |row| {
            let get = |at: usize| row.try_get::<_, i64>(at).map_err(database);
            Ok(ReplayCounts { unfinished: get(0)?, succeeded: get(1)?, failed: get(2)?, cancelled: get(3)? })
        },
    )
    .await?;
    Ok(counts.unwrap_or_default())
}

/// From the small index of unfinished runs: costs what is under way, not what was replayed.
pub(crate) async fn under_way(c: &Client, id: &ReplayId) -> StoreResult<u64> {
    let count = number(
        c,
        "SELECT count(*) FROM runs WHERE status IN ('queued', 'running') AND EXISTS (SELECT 1 FROM replayed_runs r WHERE r.run_id = runs.id AND r.replay_id = $1)",
        &[&id.as_str()],
    )
    .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

pub(crate) async fn replayed(
    c: &Client,
    id: &ReplayId,
    page: &Page,
) -> StoreResult<Listing<ReplayedRun>> {
    let (order, back) = if page.before.is_some() { ("DESC", true) } else { ("ASC", false) };
    let (after, before) = (page.after.as_deref().map(text), page.before.as_deref().map(text));
    let sql = format!(
        "SELECT r.original_id, r.run_id, n.status FROM replayed_runs r LEFT JOIN runs n ON n.id = r.run_id
         WHERE r.replay_id = $1 AND ($2::text IS NULL OR r.original_id > $2) AND ($3::text IS NULL OR r.original_id < $3) ORDER BY r.original_id {order} LIMIT $4"
    );
    let mut items =
        many(c, &sql, &[&id.as_str(), &after, &before, &i64::from(page.limit)], rows::replayed_run)
            .await?;
    if back {
        items.reverse();
    }
    let total =
        number(c, "SELECT count(*) FROM replayed_runs WHERE replay_id = $1", &[&id.as_str()])
            .await?;
    Ok(Listing::of(items, u64::try_from(total).unwrap_or(0)))
}
