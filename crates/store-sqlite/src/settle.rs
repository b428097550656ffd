//! Settling: everything a run leaves, fenced by (run, attempt).

use millrace_store::{Effects, Notice, Settlement, StoreError, StoreResult, fail_point};
use rusqlite::{Connection, params};

use crate::rows::{execute, number};
use crate::{deliveries, errors, mail, runs, search, sources, webhooks};

pub(crate) fn settle(c: &Connection, s: &Settlement) -> StoreResult<()> {
    match &s.unstored {
        Some(run) => runs::insert_ended(c, run, s)?,
        None => end(c, s)?,
    }
    if s.forget.is_some() {
        let sql = "UPDATE runs SET shared_event = NULL WHERE id = ?1 AND shared_event IS NOT NULL";
        execute(c, sql, [s.run_id.as_str()])?;
        // Attempts that ended with a pause left them.
        execute(c, "DELETE FROM logs WHERE run_id = ?1", [s.run_id.as_str()])?;
        execute(c, "DELETE FROM pauses WHERE run_id = ?1", [s.run_id.as_str()])?;
        search::forget(c, &s.run_id)?;
    }
    if let Some(group) = &s.group {
        errors::count(c, group)?;
    }
    effects(c, &s.effects)
}

fn end(c: &Connection, s: &Settlement) -> StoreResult<()> {
    let settled = execute(
        c,
        "UPDATE runs SET status = ?3, finished_at = ?4, result = ?5, error = ?6, error_class = ?7, error_group = ?8, event = coalesce(?9, event), lease_until = NULL
         WHERE id = ?1 AND attempt = ?2 AND status = 'running'",
        params![
            s.run_id.as_str(),
            s.attempt,
            s.status.as_str(),
            s.finished_at.ms(),
            s.result,
            s.error,
            s.error_class(),
            s.group.as_ref().map(|g| g.id.as_str()),
            s.forget
        ],
    )?;
    if settled == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}

pub(crate) fn effects(c: &Connection, e: &Effects) -> StoreResult<()> {
    if let Some((emitter, id)) = &e.deferred {
        let taken = execute(
            c,
            "DELETE FROM events WHERE emitter_id = ?1 AND ordinal = ?2 AND name = '$in'",
            params![emitter, id.ordinal()],
        )?;
        if taken == 0 {
            return Err(StoreError::StateChanged);
        }
    }
    if let Some(change) = &e.source {
        sources::change(c, change)?;
    }
    for event in &e.events {
        execute(
            c,
            "INSERT INTO events (emitter_id, ordinal, org_id, name, emit_id, payload, metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                event.emitter_id,
                event.id.ordinal(),
                event.org_id.as_str(),
                event.name,
                event.emit_id,
                event.payload,
                event.metadata
            ],
        )?;
    }
    runs::insert_all(c, &e.runs)?;
    for delivery in &e.deliveries {
        deliveries::insert(c, delivery)?;
    }
    if let Some((org, owner, run)) = e.log_owner.as_ref().filter(|_| !e.logs.is_empty()) {
        // An attempt that ended with a pause left lines before.
        let first = number(
            c,
            "SELECT coalesce(max(line) + 1, 0) FROM logs WHERE run_id = ?1",
            [run.as_str()],
        )?;
        for (line, log) in (first..).zip(&e.logs) {
            execute(
                c,
                "INSERT INTO logs (run_id, line, owner_id, org_id, at, level, text, step) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    run.as_str(),
                    line,
                    owner,
                    org.as_str(),
                    log.at.ms(),
                    log.level.as_str(),
                    log.text,
                    log.step
                ],
            )?;
        }
    }
    webhooks::queue(c, &e.webhook_deliveries)?;
    match &e.notice {
        Some(notice) => notify(c, notice),
        None => Ok(()),
    }
}

/// Queues the mails only where none went out since; the upsert changes the row only then. One that
/// went out later than a window from now was sent by a clock that was wrong.
fn notify(c: &Connection, n: &Notice) -> StoreResult<()> {
    if n.group.as_ref().map_or(Ok(false), |group| errors::is_ignored(c, group))? {
        return Ok(());
    }
    let earlier = "SELECT coalesce((SELECT since_last FROM error_notices WHERE owner_id = ?1 AND class = ?2), 0)";
    let earlier = number(c, earlier, params![n.owner, n.class])?;
    let due = execute(
        c,
        "INSERT INTO error_notices (owner_id, class, last_at, since_last) SELECT ?1, ?2, ?3, 0
         WHERE (SELECT count(*) FROM error_notices WHERE owner_id = ?1 AND class <> ?2 AND last_at > ?4
           AND last_at <= 2 * ?3 - ?4) < ?5
         ON CONFLICT (owner_id, class) DO UPDATE SET last_at = excluded.last_at, since_last = 0 WHERE last_at <= ?4
           OR last_at > 2 * excluded.last_at - ?4",
        params![n.owner, n.class, n.at.ms(), n.unless_since.ms(), Notice::CLASSES_MAX],
    )?;
    fail_point!("store.notice.before_commit");
    if due > 0 {
        return n.mails(earlier).iter().try_for_each(|m| mail::queue(c, m).map(|_| ()));
    }
    execute(
        c,
        "UPDATE error_notices SET since_last = since_last + 1 WHERE owner_id = ?1 AND class = ?2",
        params![n.owner, n.class],
    )?;
    Ok(())
}
