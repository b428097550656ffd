//! Retention and pruning of history. Each step costs what it removes: it walks an owner's index
//! from its old end.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{EventId, OrgId};
use millrace_model::retention::Retention;
use millrace_store::{CONNECTION_SHOWN_MS, Leftovers, Pruning, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::errors;
use crate::history::with_bytes;
use crate::rows::{execute, get, many, one};
use crate::steps::first_step;

pub(crate) fn of(c: &Connection, owner: &str) -> StoreResult<Option<Retention>> {
    one(c, "SELECT keep_days, keep_count FROM retentions WHERE owner_id = ?1", [owner], |row| {
        Ok(Retention { keep_days: get(row, "keep_days")?, keep_count: get(row, "keep_count")? })
    })
}

pub(crate) fn put(
    c: &Connection,
    org: &OrgId,
    owner: &str,
    retention: Option<Retention>,
) -> StoreResult<()> {
    execute(c, "DELETE FROM retentions WHERE owner_id = ?1", [owner])?;
    if let Some(r) = retention {
        let values = params![owner, org.as_str(), r.keep_days, r.keep_count];
        execute(
            c,
            "INSERT INTO retentions (owner_id, org_id, keep_days, keep_count) VALUES (?1, ?2, ?3, ?4)",
            values,
        )?;
    }
    Ok(())
}

pub(crate) fn owners(c: &Connection, mut after: String, limit: u32) -> StoreResult<Vec<String>> {
    // From one to the next through the indexes, whatever each has.
    let next = "SELECT min(id) FROM (SELECT min(owner_id) AS id FROM runs WHERE owner_id > ?1
                  UNION ALL SELECT min(emitter_id) FROM events WHERE emitter_id > ?1
                  UNION ALL SELECT min(owner_id) FROM logs WHERE owner_id > ?1)";
    let mut found = Vec::new();
    while found.len() < limit as usize {
        let Some(id) =
            one(c, next, [&after], |row| row.get::<_, Option<String>>(0).map_err(database))?
                .flatten()
        else {
            break;
        };
        found.push(id.clone());
        after = id;
    }
    Ok(found)
}

/// What a step is to remove. It is looked for by a reader: the writer is not held up where there is
/// nothing.
pub(crate) struct Found {
    runs: Vec<String>,
    events: Vec<i64>,
    /// Lines of hooks, which are no runs.
    logs: Vec<i64>,
}

impl Found {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.events.is_empty() && self.logs.is_empty()
    }
}

pub(crate) fn find(c: &Connection, p: &Pruning) -> StoreResult<Found> {
    let (runs, events) = (find_runs(c, p)?, find_events(c, p)?);
    let found = runs.len();
    let ((runs, all_runs), (events, _)) = (first_step(runs), first_step(events));
    // Lines of runs that are to go with them are none of hooks: all of them would be read in each
    // step.
    let logs = if all_runs && found < p.limit as usize { find_logs(c, p)? } else { Vec::new() };
    Ok(Found { runs, events, logs })
}

fn find_runs(c: &Connection, p: &Pruning) -> StoreResult<Vec<(String, i64)>> {
    let kept = match p.keep_count {
        Some(count) => one(
            c,
            "SELECT created_at, id FROM runs WHERE owner_id = ?1 ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?2",
            params![p.owner, count.max(1) - 1],
            |row| {
                Ok((
                    row.get::<_, i64>(0).map_err(database)?,
                    row.get::<_, String>(1).map_err(database)?,
                ))
            },
        )?,
        None => None,
    };
    // All below one place in the order of age goes: that of the oldest that is kept for its number,
    // or for its age.
    let Some((at, id)) = p.before.map(|before| (before.ms(), String::new())).max(kept) else {
        return Ok(Vec::new());
    };
    many(
        c,
        "SELECT id, octet_length(event) + octet_length(context) + coalesce(octet_length(result), 0) FROM runs WHERE owner_id = ?1 AND (created_at, id) < (?2, ?3) AND status NOT IN ('queued', 'running', 'paused')
         ORDER BY created_at, id LIMIT ?4",
        params![p.owner, at, id, p.limit],
        with_bytes,
    )
}

fn find_events(c: &Connection, p: &Pruning) -> StoreResult<Vec<(i64, i64)>> {
    let kept = match p.keep_count {
        Some(count) => {
            let sql = "SELECT ordinal FROM events WHERE emitter_id = ?1 ORDER BY ordinal DESC LIMIT 1 OFFSET ?2";
            one(c, sql, params![p.owner, count.max(1) - 1], |row| {
                row.get::<_, i64>(0).map_err(database)
            })?
        }
        None => None,
    };
    let Some(cut) = p.before.map(EventId::ordinal_at).max(kept) else { return Ok(Vec::new()) };
    many(
        c,
        "SELECT ordinal, octet_length(payload) FROM events WHERE emitter_id = ?1 AND ordinal < ?2 AND name <> '$in' ORDER BY ordinal LIMIT ?3",
        params![p.owner, cut, p.limit],
        with_bytes,
    )
}

/// Of hooks only age tells.
fn find_logs(c: &Connection, p: &Pruning) -> StoreResult<Vec<i64>> {
    let Some(before) = p.before else { return Ok(Vec::new()) };
    many(
        c,
        "SELECT rowid FROM logs WHERE owner_id = ?1 AND at < ?2 AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run_id) LIMIT ?3",
        params![p.owner, before.ms(), p.limit],
        |row| row.get(0).map_err(database),
    )
}

/// What has settled stays so, and what was found is not made again: nothing is looked at twice.
pub(crate) fn prune(c: &Connection, owner: &str, found: &Found) -> StoreResult<u64> {
    let mut gone = 0;
    for id in &found.runs {
        execute(c, "DELETE FROM logs WHERE run_id = ?1", [id])?;
        execute(c, "DELETE FROM deliveries WHERE run_id = ?1", [id])?;
        execute(c, "DELETE FROM pauses WHERE run_id = ?1", [id])?;
        execute(c, "DELETE FROM replayed_runs WHERE run_id = ?1 OR original_id = ?1", [id])?;
        gone += execute(c, "DELETE FROM runs WHERE id = ?1", [id])?;
    }
    for ordinal in &found.events {
        gone += execute(
            c,
            "DELETE FROM events WHERE emitter_id = ?1 AND ordinal = ?2",
            params![owner, ordinal],
        )?;
    }
    for line in &found.logs {
        gone += execute(
            c,
            "DELETE FROM logs WHERE rowid = ?1 AND owner_id = ?2",
            params![line, owner],
        )?;
    }
    Ok(gone as u64)
}

pub(crate) fn prune_leftovers(c: &Connection, l: &Leftovers) -> StoreResult<u64> {
    let mut gone = execute(
        c,
        "DELETE FROM oauth_tokens WHERE token_hash IN (SELECT token_hash FROM oauth_tokens WHERE expires_at <= ?1 LIMIT ?2)",
        params![l.now.ms(), l.limit],
    )?;
    for table in ["sessions", "links"] {
        let ended = format!(
            "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE expires_at <= ?1 LIMIT ?2)"
        );
        gone += execute(c, &ended, params![l.now.ms(), l.limit])?;
    }
    let ended = "DELETE FROM connections WHERE id IN (SELECT id FROM connections WHERE expires_at <= ?1 LIMIT ?2)";
    gone += execute(c, ended, params![l.now.ms() - CONNECTION_SHOWN_MS, l.limit])?;
    let ended =
        "DELETE FROM forms WHERE id IN (SELECT id FROM forms WHERE expires_at <= ?1 LIMIT ?2)";
    gone += execute(c, ended, params![l.now.ms(), l.limit])?;
    if let Some(before) = l.before.map(Timestamp::ms) {
        let values = params![before, l.limit];
        gone += execute(
            c,
            "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE created_at < ?1 LIMIT ?2)",
            values,
        )?;
        gone += errors::prune(c, Timestamp(before), l.limit)?;
        gone += execute(
            c,
            "DELETE FROM replays WHERE id IN (SELECT id FROM replays WHERE updated_at < ?1 AND status NOT IN ('running', 'paused') LIMIT ?2)",
            values,
        )?;
        // Organization by organization, as the index goes. What waits goes too, once its try has
        // been due for as long: nobody takes it.
        gone += execute(
            c,
            "DELETE FROM mail WHERE id IN
               (SELECT m.id FROM organizations AS o CROSS JOIN mail AS m ON m.org_id = o.id WHERE m.created_at < ?1 AND (m.status <> 'queued' OR m.next_at < ?1) LIMIT ?2)",
            values,
        )?;
    }
    if let Some(before) = l.audit_before.map(Timestamp::ms) {
        gone += execute(
            c,
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE created_at < ?1 LIMIT ?2)",
            params![before, l.limit],
        )?;
    }
    Ok(gone as u64)
}
