//! Reading and pruning of history. The newest of anything costs what is read, not what is stored.

use millrace_model::clock::Timestamp;
use millrace_model::event::{Event, EventFilter, ListedEvent};
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::{Run, RunKind};
use millrace_model::run_stats::VersionRuns;
use millrace_model::subscription::DEFERRED;
use millrace_store::{
    Dialect, EndedRuns, Lineage, ListedRun, NewestOf, RUN_EVENT, RunFilter, RunQuery, RunState,
    SqlValue, StoreError, StoreResult, payload_columns, run_column_bytes, run_columns,
};
use rusqlite::{Connection, ToSql, params};

use crate::db::database;
use crate::rows::{self, execute, make_room, many, newest_first, number, one, order};

/// Events that a stream shows (spec 2.5, 8).
const EVENTS_SHOWN: i64 = 100;
/// Runs that are counted exactly; more are shown as this many.
const RUNS_COUNTED: i64 = 1_000;

pub(crate) fn runs(
    c: &Connection,
    org: &OrgId,
    f: &RunFilter,
    whole: bool,
    page: &Page,
) -> StoreResult<Listing<ListedRun>> {
    let query = || RunQuery::new(Dialect::Sqlite, org, f);
    let cursors =
        (time_of(c, org, "after", &page.after)?, time_of(c, org, "before", &page.before)?);
    let (sizes, values) = query().page(&run_column_bytes(whole), page, cursors);
    make_room(c, &sizes, &to_sql(&values), page)?;
    let (items, values) = query().page(&run_columns(whole), page, cursors);
    let (mut items, mut damaged) =
        rows::readable(c, "runs", &items, to_sql(&values).as_slice(), rows::listed_run)?;
    newest_first(&mut items, page);
    newest_first(&mut damaged, page);
    let (count, values) = query().count(RUNS_COUNTED);
    let total = number(c, &count, to_sql(&values).as_slice())?.min(RUNS_COUNTED);
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0), damaged })
}

pub(crate) fn matching_runs(
    c: &Connection,
    org: &OrgId,
    f: &RunFilter,
    after: Option<&(Timestamp, RunId)>,
    limit: u32,
) -> StoreResult<Vec<Run>> {
    let (sql, values) = RunQuery::new(Dialect::Sqlite, org, f).oldest_after(after, limit);
    many(c, &sql, to_sql(&values).as_slice(), rows::run)
}

pub(crate) fn count_runs(c: &Connection, org: &OrgId, f: &RunFilter, max: u32) -> StoreResult<u64> {
    let (sql, values) = RunQuery::new(Dialect::Sqlite, org, f).count(i64::from(max));
    Ok(u64::try_from(number(c, &sql, to_sql(&values).as_slice())?.min(i64::from(max))).unwrap_or(0))
}

/// When the run was accepted that a cursor names.
pub(crate) fn time_of(
    c: &Connection,
    org: &OrgId,
    name: &'static str,
    cursor: &Option<String>,
) -> StoreResult<Option<Timestamp>> {
    let Some(id) = cursor else { return Ok(None) };
    let sql = "SELECT created_at FROM runs WHERE id = ?1 AND org_id = ?2";
    let time = one(c, sql, [id.as_str(), org.as_str()], |row| {
        row.get(0).map(Timestamp).map_err(database)
    })?;
    time.ok_or(StoreError::UnknownCursor(name)).map(Some)
}

pub(crate) fn to_sql(values: &[SqlValue]) -> Vec<&dyn ToSql> {
    fn value(value: &SqlValue) -> &dyn ToSql {
        match value {
            SqlValue::Text(text) => text,
            SqlValue::Number(number) => number,
        }
    }
    values.iter().map(value).collect()
}

pub(crate) fn lineage(c: &Connection, org: &OrgId, id: &RunId) -> StoreResult<Option<Lineage>> {
    let sql = format!("SELECT {} FROM runs WHERE id = ?1 AND org_id = ?2", run_columns(false));
    one(c, &sql, [id.as_str(), org.as_str()], rows::lineage)
}

pub(crate) fn run_bytes(c: &Connection, org: &OrgId, id: &RunId) -> StoreResult<Option<u64>> {
    let sql = format!(
        "SELECT octet_length({RUN_EVENT}) + octet_length(context) + ifnull(octet_length(result), 0) + ifnull(octet_length(error), 0)
           + (SELECT ifnull(sum(octet_length(text)), 0) FROM logs WHERE run_id = ?1)
         FROM runs WHERE id = ?1 AND org_id = ?2"
    );
    one(c, &sql, [id.as_str(), org.as_str()], |row| {
        row.get::<_, i64>(0).map_err(database).map(|bytes| u64::try_from(bytes).unwrap_or(0))
    })
}

pub(crate) fn run_states(
    c: &Connection,
    org: &OrgId,
    owner: &str,
    from: Timestamp,
    limit: u32,
) -> StoreResult<Vec<RunState>> {
    many(
        c,
        "SELECT id, status, attempt, created_at FROM runs INDEXED BY runs_owner WHERE owner_id = ?1 AND org_id = ?2 AND created_at >= ?3 ORDER BY created_at DESC, id DESC LIMIT ?4",
        params![owner, org.as_str(), from.ms(), limit],
        rows::run_state,
    )
}

/// The index alone is read.
pub(crate) fn ended_runs(
    c: &Connection,
    org: &OrgId,
    owner: Option<&str>,
    kind: RunKind,
    within: (Timestamp, Timestamp),
    max: u32,
) -> StoreResult<EndedRuns> {
    let sql = "SELECT created_at, owner_id, status, started_at, finished_at FROM runs INDEXED BY runs_org_ended
         WHERE org_id = ?1 AND created_at >= ?2 AND created_at < ?3 AND kind = ?4 AND finished_at IS NOT NULL ORDER BY created_at DESC LIMIT ?5";
    let found = many(
        c,
        sql,
        params![org.as_str(), within.0.ms(), within.1.ms(), kind.as_str(), max],
        rows::ended_run,
    )?;
    Ok(EndedRuns::of(found, owner, max))
}

pub(crate) fn version_runs(
    c: &Connection,
    owner: &str,
    scan: u32,
) -> StoreResult<Vec<VersionRuns>> {
    let sql = "SELECT deployment_id, count(*) FILTER (WHERE status IN ('queued', 'running', 'paused')) AS unfinished, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'cancelled') AS cancelled
         FROM (SELECT deployment_id, status, kind FROM runs WHERE owner_id = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2) AS newest
         WHERE kind = 'live' AND deployment_id IS NOT NULL GROUP BY deployment_id ORDER BY deployment_id";
    many(c, sql, params![owner, scan], rows::version_runs)
}

pub(crate) fn events(
    c: &Connection,
    org: &OrgId,
    emitter: &str,
    which: EventFilter<'_>,
    whole: bool,
    page: &Page,
) -> StoreResult<Listing<ListedEvent>> {
    let EventFilter { name, text } = which;
    // The id tells the place, whether the event is there still or not.
    let bound = |name, cursor: &Option<String>, none: i64| match cursor {
        Some(text) => text
            .parse::<EventId>()
            .map(EventId::ordinal)
            .map_err(|_| StoreError::UnknownCursor(name)),
        None => Ok(none),
    };
    let (below, above) =
        (bound("after", &page.after, i64::MAX)?, bound("before", &page.before, i64::MIN)?);
    let org_id = org.as_str();
    // Only the newest hundred are shown; a page is a part of those.
    // What waits is not history: all of it is shown.
    let shown_max = if name == Some(DEFERRED) { i64::MAX } else { EVENTS_SHOWN };
    // The index is named: the planner would rather read through all channels of the emitter,
    // however much is in the others.
    let (index, stream) = match name {
        Some(_) => ("events_stream", "name = ?3"),
        None => (
            "events_shown",
            "name <> '$errors' AND name <> '$test' AND name <> '$in' AND ?3 IS NULL",
        ),
    };
    let newest = |columns: &str, limit: &str| {
        format!(
            "SELECT {columns} FROM events INDEXED BY {index} WHERE emitter_id = ?1 AND org_id = ?2 AND {stream} ORDER BY ordinal DESC LIMIT {limit}"
        )
    };
    let shown = |columns: &str| {
        match text {
        None => newest(columns, "?4"),
        Some(_) => format!(
            "SELECT {columns} FROM ({}) WHERE instr(lower(substr(payload, 1, {})), lower(?8)) > 0 OR instr(lower(metadata), lower(?8)) > 0
             ORDER BY ordinal DESC LIMIT ?4",
            newest("*", &EventFilter::LOOKED_AT_MAX.to_string()),
            EventFilter::SEARCHED_CHARS
        ),
    }
    };
    let order = order(page);
    let of_page = |columns: &str| {
        format!(
            "SELECT * FROM ({}) WHERE ordinal < ?5 AND ordinal > ?6 ORDER BY ordinal {order} LIMIT ?7",
            shown(columns)
        )
    };
    let mut which: Vec<&dyn ToSql> =
        vec![&emitter, &org_id, &name, &shown_max, &below, &above, &page.limit];
    if let Some(text) = &text {
        which.push(text);
    }
    let which = which.as_slice();
    let (payload, bytes) = payload_columns(whole);
    make_room(
        c,
        &of_page(&format!("ordinal, octet_length(metadata) + {bytes} AS bytes")),
        which,
        page,
    )?;
    let columns = format!(
        "emitter_id, ordinal, org_id, name, emit_id, metadata, {payload} AS payload, octet_length(payload) AS payload_bytes"
    );
    let mut items = many(c, &of_page(&columns), which, rows::listed_event)?;
    newest_first(&mut items, page);
    let total = number(
        c,
        &format!("SELECT count(*) FROM ({})", shown("1")),
        if text.is_some() { which } else { &which[..4] },
    )?;
    Ok(Listing::of(items, u64::try_from(total).unwrap_or(0)))
}

/// The newest of each emitter, by the index of each.
pub(crate) fn newest_of(
    c: &Connection,
    org: &OrgId,
    emitters: &[String],
) -> StoreResult<Vec<NewestOf>> {
    let sql = "SELECT n.emitter, e.ordinal, e.name, e.metadata, r.id AS run_id, r.finished_at, r.error FROM (
           SELECT value AS emitter,
             (SELECT ordinal FROM events INDEXED BY events_shown WHERE emitter_id = value AND name <> '$errors' AND name <> '$test' AND name <> '$in'
                ORDER BY ordinal DESC LIMIT 1) AS ordinal,
             (SELECT id FROM runs INDEXED BY runs_failed WHERE owner_id = value AND status = 'failed' ORDER BY created_at DESC, id DESC LIMIT 1) AS run_id
           FROM json_each(?2)) AS n
         LEFT JOIN events e ON e.emitter_id = n.emitter AND e.ordinal = n.ordinal AND e.org_id = ?1
         LEFT JOIN runs r ON r.id = n.run_id AND r.org_id = ?1";
    many(c, sql, params![org.as_str(), crate::store::json(&emitters)?], rows::newest_of)
}

pub(crate) fn events_after(
    c: &Connection,
    org: &OrgId,
    emitter: &str,
    after: EventId,
    limit: u32,
) -> StoreResult<Vec<Event>> {
    many(
        c,
        "SELECT * FROM events WHERE emitter_id = ?1 AND org_id = ?2 AND ordinal > ?3 ORDER BY ordinal LIMIT ?4",
        params![emitter, org.as_str(), after.ordinal(), limit],
        rows::event,
    )
}

pub(crate) fn due_deferred(c: &Connection, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>> {
    let due = "json_extract(metadata, '$.delivery_ts')";
    let sql =
        format!("SELECT * FROM events WHERE name = '$in' AND {due} <= ?1 ORDER BY {due} LIMIT ?2");
    Ok(rows::readable(c, "events", &sql, params![now.ms(), limit], rows::event)?.0)
}

pub(crate) fn next_deferred_at(c: &Connection) -> StoreResult<Option<Timestamp>> {
    let due = "json_extract(metadata, '$.delivery_ts')";
    one(
        c,
        &format!(
            "SELECT {due} FROM events WHERE name = '$in' AND {due} IS NOT NULL ORDER BY {due} LIMIT 1"
        ),
        [],
        |row| row.get(0).map(Timestamp).map_err(database),
    )
}

/// The newest event of an emitter, as its place.
pub(crate) fn newest_event(c: &Connection, emitter: &str) -> StoreResult<Option<i64>> {
    one(c, "SELECT max(ordinal) FROM events WHERE emitter_id = ?1", [emitter], |row| {
        row.get(0).map_err(database)
    })
    .map(Option::flatten)
}

/// The oldest events in an inclusive range of places, at most `limit`, with their bytes; without
/// `name` of all streams but `$in`.
pub(crate) fn places(
    c: &Connection,
    org: &OrgId,
    emitter: &str,
    name: Option<&str>,
    (start, end): (i64, i64),
    limit: u32,
) -> StoreResult<Vec<(i64, i64)>> {
    // Two texts, so that where nothing is in the stream nothing is read.
    let (index, stream) = match name {
        Some(_) => ("INDEXED BY events_stream", "name = ?3"),
        None => ("", "name <> '$in' AND ?3 IS NULL"),
    };
    many(
        c,
        &format!(
            "SELECT ordinal, octet_length(payload) FROM events {index} WHERE emitter_id = ?1 AND org_id = ?2 AND {stream} AND ordinal >= ?4 AND ordinal <= ?5
             ORDER BY ordinal LIMIT ?6"
        ),
        params![emitter, org.as_str(), name, start, end, limit],
        with_bytes,
    )
}

/// What names a row, and its bytes.
pub(crate) fn with_bytes<K: rusqlite::types::FromSql>(
    row: &rusqlite::Row<'_>,
) -> StoreResult<(K, i64)> {
    Ok((row.get(0).map_err(database)?, row.get(1).map_err(database)?))
}

/// Removes events at their places; how many were there still.
pub(crate) fn delete_events(c: &Connection, emitter: &str, places: &[i64]) -> StoreResult<u64> {
    let mut gone = 0;
    for ordinal in places {
        gone += execute(
            c,
            "DELETE FROM events WHERE emitter_id = ?1 AND ordinal = ?2",
            params![emitter, ordinal],
        )?;
    }
    Ok(gone as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_named_are_read_by_their_ids_and_not_looked_for_among_all() {
        let connection = Connection::open_in_memory().unwrap();
        crate::migrations::run(&connection).unwrap();
        let run = RunId::from_row("run_a".into());
        let named = RunFilter { ids: Some(vec![run.clone()]), ..RunFilter::default() };
        let replays = RunFilter { replay_of: Some(run), ..RunFilter::default() };
        let of_owner = RunFilter { owner: Some("p_a".into()), ..named.clone() };
        let failed = RunFilter {
            statuses: vec![millrace_model::run::RunStatus::Failed],
            min_ms: Some(1),
            ..named.clone()
        };
        for filter in [named, replays, of_owner, failed] {
            let query = || RunQuery::new(Dialect::Sqlite, &OrgId::from_row("o_a".into()), &filter);
            for (sql, values) in
                [query().page("id", &Page::default(), (None, None)), query().count(10)]
            {
                let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let plan: Vec<String> = plan
                    .query_map(to_sql(&values).as_slice(), |row| row.get(3))
                    .unwrap()
                    .collect::<Result<_, _>>()
                    .unwrap();
                let others = |step: &&String| {
                    step.contains(" runs ")
                        && !step.contains("sqlite_autoindex_runs_1 (id=?)")
                        && !step.contains("owner_id=?")
                };
                assert_eq!(plan.iter().find(others), None, "{sql}: {plan:#?}");
            }
        }
    }
}
