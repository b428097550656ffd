//! Reading and pruning of history. The newest of anything costs what is read, not what is stored.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::event::{Event, EventFilter, ListedEvent};
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::{LogFilter, LogLine, OwnerLine, Run, RunKind};
use millrace_model::run_stats::VersionRuns;
use millrace_model::subscription::DEFERRED;
use millrace_store::{
    Dialect, EndedRuns, Lineage, ListedRun, NewestOf, RUN_EVENT, RunFilter, RunQuery, RunState,
    SqlValue, StoreError, StoreResult, log_query, payload_columns, run_column_bytes, run_columns,
};
use tokio_postgres::types::ToSql;

use crate::db::{database, text};
use crate::rows::{
    self, Params, counted_first, execute, make_room, many, newest_first, number, one, order,
};

/// Events that a stream shows (spec 2.5, 8).
const EVENTS_SHOWN: i64 = 100;
/// Runs that are counted exactly; more are shown as this many.
const RUNS_COUNTED: i64 = 1_000;

pub(crate) async fn runs(
    c: &Client,
    org: &OrgId,
    f: &RunFilter,
    whole: bool,
    page: &Page,
) -> StoreResult<Listing<ListedRun>> {
    let query = || RunQuery::new(Dialect::Postgres, org, f);
    let cursors = (
        time_of(c, org, "after", &page.after).await?,
        time_of(c, org, "before", &page.before).await?,
    );
    let (sizes, values) = query().page(&run_column_bytes(whole), page, cursors);
    let values = storable(values);
    make_room(c, &sizes, &to_sql(&values), page).await?;
    let (items, _) = query().page(&run_columns(whole), page, cursors);
    let (count, counted) = query().count(RUNS_COUNTED);
    let (counted, values) = (storable(counted), to_sql(&values));
    let counted = to_sql(&counted);
    let mut listing = counted_first(
        async { Ok(number(c, &count, &counted).await?.min(RUNS_COUNTED)) },
        rows::readable(c, "runs", &items, &values, rows::listed_run),
    )
    .await?;
    newest_first(&mut listing.items, page);
    newest_first(&mut listing.damaged, page);
    Ok(listing)
}

pub(crate) async fn matching_runs(
    c: &Client,
    org: &OrgId,
    f: &RunFilter,
    after: Option<&(Timestamp, RunId)>,
    limit: u32,
) -> StoreResult<Vec<Run>> {
    let (sql, values) = RunQuery::new(Dialect::Postgres, org, f).oldest_after(after, limit);
    let values = storable(values);
    many(c, &sql, &to_sql(&values), rows::run).await
}

pub(crate) async fn count_runs(
    c: &Client,
    org: &OrgId,
    f: &RunFilter,
    max: u32,
) -> StoreResult<u64> {
    let (sql, values) = RunQuery::new(Dialect::Postgres, org, f).count(i64::from(max));
    let values = storable(values);
    Ok(u64::try_from(number(c, &sql, &to_sql(&values)).await?.min(i64::from(max))).unwrap_or(0))
}

/// When the run was accepted that a cursor names.
pub(crate) async fn time_of(
    c: &Client,
    org: &OrgId,
    name: &'static str,
    cursor: &Option<String>,
) -> StoreResult<Option<Timestamp>> {
    let Some(id) = cursor else { return Ok(None) };
    let sql = "SELECT created_at FROM runs WHERE id = $1 AND org_id = $2";
    let time = one(c, sql, &[&text(id), &org.as_str()], |row| {
        row.try_get(0).map(Timestamp).map_err(database)
    })
    .await?;
    time.ok_or(StoreError::UnknownCursor(name)).map(Some)
}

/// Texts as Postgres takes them.
pub(crate) fn storable(mut values: Vec<SqlValue>) -> Vec<SqlValue> {
    for value in &mut values {
        if let SqlValue::Text(given) = value {
            *given = text(given).into_owned();
        }
    }
    values
}

pub(crate) fn to_sql(values: &[SqlValue]) -> Vec<&(dyn ToSql + Sync)> {
    fn value(value: &SqlValue) -> &(dyn ToSql + Sync) {
        match value {
            SqlValue::Text(text) => text,
            SqlValue::Number(number) => number,
        }
    }
    values.iter().map(value).collect()
}

pub(crate) async fn lineage(c: &Client, org: &OrgId, id: &RunId) -> StoreResult<Option<Lineage>> {
    let sql = format!("SELECT {} FROM runs WHERE id = $1 AND org_id = $2", run_columns(false));
    one(c, &sql, &[&id.as_str(), &org.as_str()], rows::lineage).await
}

pub(crate) async fn run_bytes(c: &Client, org: &OrgId, id: &RunId) -> StoreResult<Option<u64>> {
    let sql = format!(
        "SELECT octet_length({RUN_EVENT}) + octet_length(context) + coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0)
           + (SELECT coalesce(sum(octet_length(text)), 0) FROM logs WHERE run_id = $1)
         FROM runs WHERE id = $1 AND org_id = $2"
    );
    let bytes = one(c, &sql, &[&id.as_str(), &org.as_str()], |row| {
        row.try_get::<_, i64>(0).map_err(database)
    })
    .await?;
    Ok(bytes.map(|bytes| u64::try_from(bytes).unwrap_or(0)))
}

pub(crate) async fn run_states(
    c: &Client,
    org: &OrgId,
    owner: &str,
    from: Timestamp,
    limit: u32,
) -> StoreResult<Vec<RunState>> {
    let sql = "SELECT id, status, attempt, created_at FROM runs WHERE owner_id = $1 AND org_id = $2 AND created_at >= $3 ORDER BY created_at DESC, id DESC LIMIT $4";
    many(c, sql, &[&text(owner), &org.as_str(), &from.ms(), &i64::from(limit)], rows::run_state)
        .await
}

pub(crate) async fn ended_runs(
    c: &Client,
    org: &OrgId,
    owner: Option<&str>,
    kind: RunKind,
    within: (Timestamp, Timestamp),
    max: u32,
) -> StoreResult<EndedRuns> {
    let sql = "SELECT created_at, owner_id, status, started_at, finished_at FROM runs
         WHERE org_id = $1 AND created_at >= $2 AND created_at < $3 AND kind = $4 AND finished_at IS NOT NULL ORDER BY created_at DESC LIMIT $5";
    let found = many(
        c,
        sql,
        &[&org.as_str(), &within.0.ms(), &within.1.ms(), &kind.as_str(), &i64::from(max)],
        rows::ended_run,
    )
    .await?;
    Ok(EndedRuns::of(found, owner, max))
}

pub(crate) async fn version_runs(
    c: &Client,
    owner: &str,
    scan: u32,
) -> StoreResult<Vec<VersionRuns>> {
    let sql = "SELECT deployment_id, count(*) FILTER (WHERE status IN ('queued', 'running', 'paused')) AS unfinished, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'cancelled') AS cancelled
         FROM (SELECT deployment_id, status, kind FROM runs WHERE owner_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2) AS newest
         WHERE kind = 'live' AND deployment_id IS NOT NULL GROUP BY deployment_id ORDER BY deployment_id";
    many(c, sql, &[&owner, &i64::from(scan)], rows::version_runs).await
}

pub(crate) async fn logs(c: &Client, id: &RunId) -> StoreResult<Vec<LogLine>> {
    let sql = format!("SELECT {} FROM logs WHERE run_id = $1 ORDER BY line", rows::LOG_LINE);
    many(c, &sql, &[&id.as_str()], |row| rows::log_line(row).map(|(_, line)| line)).await
}

pub(crate) async fn owner_logs(
    c: &Client,
    org: &OrgId,
    owner: &str,
    filter: &LogFilter,
    limit: u32,
) -> StoreResult<Vec<OwnerLine>> {
    let (sql, values) = log_query(Dialect::Postgres, org, owner, filter, limit);
    let values = storable(values);
    let mut lines = many(c, &sql, &to_sql(&values), rows::owner_line).await?;
    lines.reverse();
    Ok(lines)
}

pub(crate) async fn events(
    c: &Client,
    org: &OrgId,
    emitter: &str,
    which: EventFilter<'_>,
    whole: bool,
    page: &Page,
) -> StoreResult<Listing<ListedEvent>> {
    let EventFilter { name, text: searched } = which;
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
    // Only the newest hundred are shown; a page is a part of those. Two texts, so that each is
    // planned for its index.
    let stream = match name {
        Some(_) => "left(name, 200) = left($3::text, 200) AND name = $3",
        None => "name NOT IN ('$errors', '$test', '$in') AND $3::text IS NULL",
    };
    // What waits is not history: all of it is shown.
    let shown_max = if name == Some(DEFERRED) { i64::MAX } else { EVENTS_SHOWN };
    let newest = |columns: &str, rest: &str| {
        format!(
            "SELECT {columns} FROM events WHERE emitter_id = $1 AND org_id = $2 AND {stream} {rest}"
        )
    };
    let shown = |columns: &str| {
        match searched {
        None => newest(columns, "AND $5::text IS NULL ORDER BY ordinal DESC LIMIT $4"),
        Some(_) => format!(
            "SELECT {columns} FROM ({}) AS newest WHERE strpos(lower(left(payload, {})), lower($5::text)) > 0 OR strpos(lower(metadata), lower($5::text)) > 0
             ORDER BY ordinal DESC LIMIT $4",
            newest("*", &format!("ORDER BY ordinal DESC LIMIT {}", EventFilter::LOOKED_AT_MAX)),
            EventFilter::SEARCHED_CHARS
        ),
    }
    };
    let (emitter, name, searched, org, limit) =
        (text(emitter), name.map(text), searched.map(text), org.as_str(), i64::from(page.limit));
    let of_page = |columns: &str| {
        format!(
            "SELECT * FROM ({}) AS e WHERE ordinal < $6 AND ordinal > $7 ORDER BY ordinal {} LIMIT $8",
            shown(columns),
            order(page)
        )
    };
    let count = format!("SELECT count(*) FROM ({}) AS e", shown("1"));
    let all: Params<'_> = &[&emitter, &org, &name, &shown_max, &searched, &below, &above, &limit];
    let (payload, bytes) = payload_columns(whole);
    make_room(
        c,
        &of_page(&format!("ordinal, octet_length(metadata) + {bytes} AS bytes")),
        all,
        page,
    )
    .await?;
    let items = of_page(&format!(
        "emitter_id, ordinal, org_id, name, emit_id, metadata, {payload} AS payload, octet_length(payload) AS payload_bytes"
    ));
    let mut listing = counted_first(number(c, &count, &all[..5]), async {
        Ok((many(c, &items, all, rows::listed_event).await?, Vec::new()))
    })
    .await?;
    newest_first(&mut listing.items, page);
    Ok(listing)
}

/// The newest of each emitter, by the index of each.
pub(crate) async fn newest_of(
    c: &Client,
    org: &OrgId,
    emitters: &[String],
) -> StoreResult<Vec<NewestOf>> {
    let sql = "SELECT n.emitter, e.ordinal, e.name, e.metadata, r.id AS run_id, r.finished_at, r.error FROM unnest($2::text[]) AS n (emitter)
         LEFT JOIN LATERAL (SELECT ordinal, name, metadata FROM events WHERE emitter_id = n.emitter AND org_id = $1 AND name NOT IN ('$errors', '$test', '$in')
           ORDER BY ordinal DESC LIMIT 1) AS e ON TRUE
         LEFT JOIN LATERAL (SELECT id, finished_at, error FROM runs WHERE owner_id = n.emitter AND org_id = $1 AND status = 'failed'
           ORDER BY created_at DESC, id DESC LIMIT 1) AS r ON TRUE";
    many(c, sql, &[&org.as_str(), &emitters], rows::newest_of).await
}

pub(crate) async fn events_after(
    c: &Client,
    org: &OrgId,
    emitter: &str,
    after: EventId,
    limit: u32,
) -> StoreResult<Vec<Event>> {
    let sql = format!(
        "SELECT {} FROM events WHERE emitter_id = $1 AND org_id = $2 AND ordinal > $3 ORDER BY ordinal LIMIT $4",
        rows::EVENT
    );
    many(
        c,
        &sql,
        &[&text(emitter), &org.as_str(), &after.ordinal(), &i64::from(limit)],
        rows::event,
    )
    .await
}

/// When a deferred event is due, as its index has it. Postgres reads no JSON with an escaped
/// U+0000, which an event's summary may have.
const DUE: &str = "((replace(metadata, '\\u0000', '\\ufffd')::json ->> 'delivery_ts')::bigint)";

pub(crate) async fn due_deferred(
    c: &Client,
    now: Timestamp,
    limit: u32,
) -> StoreResult<Vec<Event>> {
    let sql = format!(
        "SELECT {} FROM events WHERE name = '$in' AND {DUE} <= $1 ORDER BY {DUE} LIMIT $2",
        rows::EVENT
    );
    rows::claimed(c, "events", &sql, &[&now.ms(), &i64::from(limit)], rows::event).await
}

pub(crate) async fn next_deferred_at(c: &Client) -> StoreResult<Option<Timestamp>> {
    let sql = format!(
        "SELECT {DUE} FROM events WHERE name = '$in' AND {DUE} IS NOT NULL ORDER BY {DUE} LIMIT 1"
    );
    one(c, &sql, &[], |row| row.try_get(0).map(Timestamp).map_err(database)).await
}

pub(crate) async fn delete_events(
    t: &Transaction<'_>,
    org: &OrgId,
    emitter: &str,
    name: Option<&str>,
    range: (Option<EventId>, Option<EventId>),
) -> StoreResult<u64> {
    let (start, end) =
        (range.0.map_or(i64::MIN, EventId::ordinal), range.1.map_or(i64::MAX, EventId::ordinal));
    // Two texts, so that each is planned for its index.
    let stream = match name {
        Some(_) => "left(name, 200) = left($3::text, 200) AND name = $3",
        None => "name <> '$in' AND $3::text IS NULL",
    };
    let sql = format!(
        "DELETE FROM events WHERE emitter_id = $1 AND org_id = $2 AND {stream} AND ordinal >= $4 AND ordinal <= $5"
    );
    execute(t, &sql, &[&text(emitter), &org.as_str(), &name.map(text), &start, &end]).await
}
