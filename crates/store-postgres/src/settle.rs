//! Settling: everything a run leaves, fenced by (run, attempt).

use deadpool_postgres::{GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::event::Event;
use millrace_store::{Effects, Notice, Settlement, StoreError, StoreResult, fail_point};

use crate::db::{database, is_aborted, text};
use crate::rows::{execute, one};
use crate::{deliveries, errors, mail, runs, search, sources, webhooks};

/// Characters of an error's class that tell it from others: an index entry of Postgres holds at
/// most 2,700 bytes.
const CLASS_CHARS_MAX: usize = 500;

/// The run is found by its id. Its status is spelled so that no index of unfinished runs fits: the
/// planner takes one for small, and it has an entry of each run that ended since the last vacuum.
/// All statements that name a run, or a mail, and its status are spelled so.
const END: &str =
    "UPDATE runs SET status = $3, finished_at = $4, result = $5, error = $6, error_class = $7, error_group = $8, event = coalesce($9, event), lease_until = NULL
     WHERE id = $1 AND attempt = $2 AND status || '' = 'running'";

/// Ends the run, and nothing else: alone it is a transaction of one statement.
pub(crate) async fn end(c: &impl GenericClient, s: &Settlement) -> StoreResult<()> {
    if s.unstored.is_some() {
        return runs::insert_ended(c, std::slice::from_ref(s)).await;
    }
    let class = s.error_class();
    let (class, group) = (class.as_deref().map(text), s.group.as_ref().map(|g| g.id.as_str()));
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 9] = [
        &s.run_id.as_str(),
        &s.attempt,
        &s.status.as_str(),
        &s.finished_at.ms(),
        &s.result,
        &s.error,
        &class,
        &group,
        &s.forget,
    ];
    if execute(c, END, &params).await? == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}

/// Three round trips: begin, everything at once, commit.
pub(crate) async fn settle(t: &Transaction<'_>, s: &Settlement) -> StoreResult<()> {
    // Once it is prepared, the fence is sent before the effects are, so that its answer is never
    // hidden by a failure of theirs.
    let first = if s.unstored.is_some() { runs::INSERT_ENDED } else { END };
    t.prepare_cached(first).await.map_err(database)?;
    let (ended, beside, left) =
        tokio::join!(biased; end(t, s), beside(t, s), effects(t, &s.effects));
    ended.and(first_cause([beside, left]))
}

/// What a settlement changes beside the run and its effects.
async fn beside(t: &Transaction<'_>, s: &Settlement) -> StoreResult<()> {
    if s.forget.is_some() {
        let sql = "UPDATE runs SET shared_event = NULL WHERE id = $1 AND shared_event IS NOT NULL";
        execute(t, sql, &[&s.run_id.as_str()]).await?;
        // Attempts that ended with a pause left them.
        execute(t, "DELETE FROM logs WHERE run_id = $1", &[&s.run_id.as_str()]).await?;
        execute(t, "DELETE FROM pauses WHERE run_id = $1", &[&s.run_id.as_str()]).await?;
        search::forget(t, &s.run_id).await?;
    }
    match &s.group {
        Some(group) => errors::count(t, group).await,
        None => Ok(()),
    }
}

/// All parts are sent without waiting for each other's answers; the connection keeps their order.
pub(crate) async fn effects(t: &Transaction<'_>, e: &Effects) -> StoreResult<()> {
    // Alone at first: where it does not wait any more, nothing else happens.
    if let Some((emitter, id)) = &e.deferred {
        let taken = execute(
            t,
            "DELETE FROM events WHERE emitter_id = $1 AND ordinal = $2 AND name = '$in'",
            &[&text(emitter), &id.ordinal()],
        )
        .await?;
        if taken == 0 {
            return Err(StoreError::StateChanged);
        }
    }
    let change = async {
        match &e.source {
            Some(change) => sources::change(t, change).await,
            None => Ok(()),
        }
    };
    let notice = async {
        match &e.notice {
            Some(notice) => notify(t, notice).await,
            None => Ok(()),
        }
    };
    let (sent, to_webhooks) =
        (deliveries::insert(t, &e.deliveries), webhooks::queue(t, &e.webhook_deliveries));
    let (change, events, runs, logs, notice, sent, to_webhooks) = tokio::join!(
        biased;
        change, insert_events(t, &e.events), runs::insert(t, &e.runs, None), insert_logs(t, e), notice, sent, to_webhooks
    );
    first_cause([change, events, runs, logs, notice, sent, to_webhooks])
}

/// The failure that made the others fail: after one the database refuses whatever follows it in the
/// transaction.
fn first_cause(parts: impl IntoIterator<Item = StoreResult<()>>) -> StoreResult<()> {
    let mut failed = parts.into_iter().filter(Result::is_err).peekable();
    let first = failed.next_if(|part| part.as_ref().is_err_and(is_aborted));
    failed.find(|part| !part.as_ref().is_err_and(is_aborted)).or(first).unwrap_or(Ok(()))
}

async fn insert_events(t: &Transaction<'_>, events: &[Event]) -> StoreResult<()> {
    if events.is_empty() {
        return Ok(());
    }
    let column = |value: fn(&Event) -> &str| events.iter().map(value).collect::<Vec<&str>>();
    let (emitters, orgs, emits) =
        (column(|e| &e.emitter_id), column(|e| e.org_id.as_str()), column(|e| &e.emit_id));
    let (payloads, metadata) = (column(|e| &e.payload), column(|e| &e.metadata));
    let names: Vec<_> = events.iter().map(|e| text(&e.name)).collect();
    let ordinals: Vec<i64> = events.iter().map(|e| e.id.ordinal()).collect();
    execute(
        t,
        "INSERT INTO events (emitter_id, ordinal, org_id, name, emit_id, payload, metadata)
         SELECT * FROM UNNEST($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])",
        &[&emitters, &ordinals, &orgs, &names, &emits, &payloads, &metadata],
    )
    .await?;
    Ok(())
}

async fn insert_logs(t: &Transaction<'_>, e: &Effects) -> StoreResult<()> {
    let Some((org, owner, run)) = &e.log_owner else { return Ok(()) };
    if e.logs.is_empty() {
        return Ok(());
    }
    let times: Vec<i64> = e.logs.iter().map(|l| l.at).map(Timestamp::ms).collect();
    let levels: Vec<&str> = e.logs.iter().map(|l| l.level.as_str()).collect();
    let texts: Vec<_> = e.logs.iter().map(|l| text(&l.text)).collect();
    let steps: Vec<_> = e.logs.iter().map(|l| l.step.as_deref().map(text)).collect();
    // An attempt that ended with a pause left lines before.
    execute(
        t,
        "INSERT INTO logs (run_id, line, owner_id, org_id, at, level, text, step)
         SELECT $1, before + line, $2, $3, at, level, text, step
         FROM UNNEST($4::bigint[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY AS n (at, level, text, step, line),
              (SELECT coalesce(max(line), -1) AS before FROM logs WHERE run_id = $1) AS b
         ORDER BY line",
        &[&run.as_str(), owner, &org.as_str(), &times, &levels, &texts, &steps],
    )
    .await?;
    Ok(())
}

/// Queues the mails only where none went out since; the upsert changes the row only then, and locks
/// it either way. One that went out later than a window from now was sent by a clock that was
/// wrong.
async fn notify(t: &Transaction<'_>, n: &Notice) -> StoreResult<()> {
    if let Some(group) = &n.group
        && errors::is_ignored(t, group).await?
    {
        return Ok(());
    }
    let class: String = text(&n.class).chars().take(CLASS_CHARS_MAX).collect();
    let earlier =
        "SELECT since_last FROM error_notices WHERE owner_id = $1 AND class = $2 FOR UPDATE";
    let earlier = one(t, earlier, &[&n.owner, &class], |row| row.try_get(0).map_err(database))
        .await?
        .unwrap_or(0);
    let due = execute(
        t,
        "INSERT INTO error_notices (owner_id, class, last_at, since_last) SELECT $1, $2, $3::bigint, 0
         WHERE (SELECT count(*) FROM error_notices WHERE owner_id = $1 AND class <> $2 AND last_at > $4::bigint
           AND last_at <= 2 * $3::bigint - $4::bigint) < $5::bigint
         ON CONFLICT (owner_id, class) DO UPDATE SET last_at = excluded.last_at, since_last = 0 WHERE error_notices.last_at <= $4
           OR error_notices.last_at > 2 * excluded.last_at - $4",
        &[&n.owner, &class, &n.at.ms(), &n.unless_since.ms(), &Notice::CLASSES_MAX],
    )
    .await?;
    fail_point!("store.notice.before_commit");
    if due > 0 {
        for mail in n.mails(earlier) {
            mail::queue(t, &mail).await?;
        }
        return Ok(());
    }
    execute(
        t,
        "UPDATE error_notices SET since_last = since_last + 1 WHERE owner_id = $1 AND class = $2",
        &[&n.owner, &class],
    )
    .await?;
    Ok(())
}
