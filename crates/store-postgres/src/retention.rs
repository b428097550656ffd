//! Retention and pruning of history. Each step costs what it removes: it walks an owner's index
//! from its old end. Rows that another server is pruning are skipped, not waited for.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{EventId, OrgId};
use millrace_model::retention::Retention;
use millrace_store::{CONNECTION_SHOWN_MS, Leftovers, Pruning, StoreResult};

use crate::db::{database, text};
use crate::errors;
use crate::rows::{corrupt, execute, get, one};

pub(crate) async fn of(c: &Client, owner: &str) -> StoreResult<Option<Retention>> {
    let number = |row: &tokio_postgres::Row, column: &str| {
        let number = get::<Option<i64>>(row, column)?;
        number.map(|n| u32::try_from(n).map_err(|_| corrupt(column))).transpose()
    };
    one(
        c,
        "SELECT keep_days, keep_count FROM retentions WHERE owner_id = $1",
        &[&text(owner)],
        |row| {
            let (keep_days, keep_count) = (number(row, "keep_days")?, number(row, "keep_count")?);
            Ok(Retention { keep_days, keep_count })
        },
    )
    .await
}

pub(crate) async fn put(
    c: &Client,
    org: &OrgId,
    owner: &str,
    retention: Option<Retention>,
) -> StoreResult<()> {
    match retention {
        Some(r) => {
            execute(
                c,
                "INSERT INTO retentions (owner_id, org_id, keep_days, keep_count) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (owner_id) DO UPDATE SET keep_days = excluded.keep_days, keep_count = excluded.keep_count",
                &[&owner, &org.as_str(), &r.keep_days.map(i64::from), &r.keep_count.map(i64::from)],
            )
            .await?
        }
        None => execute(c, "DELETE FROM retentions WHERE owner_id = $1", &[&owner]).await?,
    };
    Ok(())
}

pub(crate) async fn owners(
    c: &impl GenericClient,
    after: &str,
    limit: u32,
) -> StoreResult<Vec<String>> {
    // From one to the next through the indexes, whatever each has.
    let next = "SELECT min(id) FROM (SELECT min(owner_id) AS id FROM runs WHERE owner_id > $1
                  UNION ALL SELECT min(emitter_id) FROM events WHERE emitter_id > $1
                  UNION ALL SELECT min(owner_id) FROM logs WHERE owner_id > $1) AS next";
    let (mut found, mut after) = (Vec::new(), text(after).into_owned());
    while found.len() < limit as usize {
        let Some(id) =
            one(c, next, &[&after], |row| row.try_get::<_, Option<String>>(0).map_err(database))
                .await?
                .flatten()
        else {
            break;
        };
        found.push(id.clone());
        after = id;
    }
    Ok(found)
}

pub(crate) async fn prune(t: &Transaction<'_>, p: &Pruning) -> StoreResult<u64> {
    let (runs, events) = (prune_runs(t, p).await?, prune_events(t, p).await?);
    // Lines of runs that are to go with them are none of hooks: all of them would be read in each
    // step.
    let logs = if runs < u64::from(p.limit) { prune_logs(t, p).await? } else { 0 };
    Ok(runs + events + logs)
}

async fn prune_runs(t: &Transaction<'_>, p: &Pruning) -> StoreResult<u64> {
    let kept = match p.keep_count {
        Some(count) => {
            let sql = "SELECT created_at, id FROM runs WHERE owner_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $2";
            let read = |row: &tokio_postgres::Row| {
                Ok((
                    row.try_get::<_, i64>(0).map_err(database)?,
                    row.try_get::<_, String>(1).map_err(database)?,
                ))
            };
            one(t, sql, &[&p.owner, &i64::from(count.max(1) - 1)], read).await?
        }
        None => None,
    };
    // All below one place in the order of age goes: that of the oldest that is kept for its number,
    // or for its age.
    let Some((at, id)) = p.before.map(|before| (before.ms(), String::new())).max(kept) else {
        return Ok(0);
    };
    execute(
        t,
        "WITH old AS MATERIALIZED (SELECT id AS old_id FROM runs WHERE owner_id = $1 AND (created_at, id) < ($2, $3)
                AND status NOT IN ('queued', 'running', 'paused') ORDER BY created_at, id LIMIT $4 FOR UPDATE SKIP LOCKED),
              gone AS (DELETE FROM logs USING old WHERE run_id = old_id),
              ended AS (DELETE FROM pauses USING old WHERE run_id = old_id),
              replayed AS (DELETE FROM replayed_runs USING old WHERE run_id = old_id OR original_id = old_id),
              unsent AS (DELETE FROM deliveries USING old WHERE run_id = old_id)
         DELETE FROM runs USING old WHERE id = old_id",
        &[&p.owner, &at, &id, &i64::from(p.limit)],
    )
    .await
}

async fn prune_events(t: &Transaction<'_>, p: &Pruning) -> StoreResult<u64> {
    let kept = match p.keep_count {
        Some(count) => {
            let sql = "SELECT ordinal FROM events WHERE emitter_id = $1 ORDER BY ordinal DESC LIMIT 1 OFFSET $2";
            one(t, sql, &[&p.owner, &i64::from(count.max(1) - 1)], |row| {
                row.try_get::<_, i64>(0).map_err(database)
            })
            .await?
        }
        None => None,
    };
    let Some(cut) = p.before.map(EventId::ordinal_at).max(kept) else { return Ok(0) };
    execute(
        t,
        "WITH old AS MATERIALIZED (SELECT ordinal AS old_ordinal FROM events WHERE emitter_id = $1 AND ordinal < $2 AND name <> '$in'
                ORDER BY ordinal LIMIT $3 FOR UPDATE SKIP LOCKED)
         DELETE FROM events USING old WHERE emitter_id = $1 AND ordinal = old_ordinal",
        &[&p.owner, &cut, &i64::from(p.limit)],
    )
    .await
}

/// Of hooks, which are no runs: only age tells.
async fn prune_logs(t: &Transaction<'_>, p: &Pruning) -> StoreResult<u64> {
    let Some(before) = p.before else { return Ok(0) };
    execute(
        t,
        "WITH old AS MATERIALIZED (SELECT run_id AS old_run, line AS old_line FROM logs WHERE owner_id = $1 AND at < $2
                AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run_id) LIMIT $3 FOR UPDATE SKIP LOCKED)
         DELETE FROM logs USING old WHERE run_id = old_run AND line = old_line",
        &[&p.owner, &before.ms(), &i64::from(p.limit)],
    )
    .await
}

pub(crate) async fn prune_leftovers(t: &Transaction<'_>, l: &Leftovers) -> StoreResult<u64> {
    let limit = i64::from(l.limit);
    let oldest = |table: &str, key: &str, column: &str, more: &str| {
        format!(
            "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {column} < $1 {more} LIMIT $2 FOR UPDATE SKIP LOCKED)"
        )
    };
    let mut gone = execute(
        t,
        &oldest("oauth_tokens", "token_hash", "expires_at", ""),
        &[&(l.now.ms() + 1), &limit],
    )
    .await?;
    for table in ["sessions", "links"] {
        gone += execute(t, &oldest(table, "id", "expires_at", ""), &[&(l.now.ms() + 1), &limit])
            .await?;
    }
    gone += execute(
        t,
        &oldest("connections", "id", "expires_at", ""),
        &[&(l.now.ms() - CONNECTION_SHOWN_MS + 1), &limit],
    )
    .await?;
    gone +=
        execute(t, &oldest("forms", "id", "expires_at", ""), &[&(l.now.ms() + 1), &limit]).await?;
    if let Some(before) = l.before.map(Timestamp::ms) {
        gone +=
            execute(t, &oldest("webhook_deliveries", "id", "created_at", ""), &[&before, &limit])
                .await?;
        gone += errors::prune(t, Timestamp(before), limit).await?;
        gone += execute(
            t,
            &oldest("replays", "id", "updated_at", "AND status NOT IN ('running', 'paused')"),
            &[&before, &limit],
        )
        .await?;
        gone += execute(
            t,
            &oldest("mail", "id", "created_at", "AND status <> 'queued'"),
            &[&before, &limit],
        )
        .await?;
        // Its try has been due for as long: nobody takes it.
        gone += execute(
            t,
            &oldest("mail", "id", "next_at", "AND status = 'queued'"),
            &[&before, &limit],
        )
        .await?;
    }
    if let Some(before) = l.audit_before.map(Timestamp::ms) {
        gone += execute(t, &oldest("audit", "id", "created_at", ""), &[&before, &limit]).await?;
    }
    Ok(gone)
}
