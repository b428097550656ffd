//! Mapping of rows to the product's records. A row that does not fit is an error, never a panic.

mod components;
mod owners;
mod runs;
mod sends;
mod stored;
mod tenants;

use millrace_model::clock::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_model::webhook::WebhookAttempt;
use millrace_store::{NAMED_SUBSCRIPTION, StoreError, StoreResult, row_bytes};
use rusqlite::{Connection, Row, ToSql};
use serde::de::DeserializeOwned;

use crate::db::database;

pub(crate) use components::*;
pub(crate) use owners::*;
pub(crate) use runs::*;
pub(crate) use sends::*;
pub(crate) use stored::*;
pub(crate) use tenants::*;

/// Reads a column.
pub(crate) fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, column: &str) -> StoreResult<T> {
    row.get(column).map_err(|error| match error {
        // SQLite keeps what it is given: a number may be a text.
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..) => corrupt(column),
        other => database(other),
    })
}

fn time(row: &Row<'_>, column: &str) -> StoreResult<Timestamp> {
    get(row, column).map(Timestamp)
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> StoreResult<T> {
    let text: String = get(row, column)?;
    millrace_model::json::from_str(&text).map_err(|e| corrupt_json(column, &e))
}

fn optional_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> StoreResult<Option<T>> {
    match get::<Option<String>>(row, column)? {
        Some(_) => json(row, column).map(Some),
        None => Ok(None),
    }
}

/// A text, where Postgres keeps bytes.
fn utf8(row: &Row<'_>, column: &str) -> StoreResult<String> {
    get(row, column)
}

/// What `read` makes of a text.
fn with_text<T>(row: &Row<'_>, column: &str, read: impl FnOnce(&str) -> T) -> StoreResult<T> {
    get::<String>(row, column).map(|text| read(&text))
}

/// A text that is one of a few.
fn parsed<T>(row: &Row<'_>, column: &str, parse: fn(&str) -> Option<T>) -> StoreResult<T> {
    with_text(row, column, parse)?.ok_or_else(|| corrupt(column))
}

fn payload_bytes(row: &Row<'_>) -> StoreResult<usize> {
    Ok(usize::try_from(get::<i64>(row, "payload_bytes")?).unwrap_or(0))
}

fn attempt_log(row: &Row<'_>) -> StoreResult<Vec<WebhookAttempt>> {
    json(row, "attempt_log")
}

fn corrupt_json(column: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: format!("the column {column}: {error}") }
}

pub(crate) fn corrupt(column: &str) -> StoreError {
    StoreError::Corrupt { what: format!("the column {column}") }
}

/// One row or none.
pub(crate) fn one<T>(
    connection: &rusqlite::Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Option<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(database)?;
    let mut rows = statement.query(params).map_err(database)?;
    match rows.next().map_err(database)? {
        Some(row) => read(row).map(Some),
        None => Ok(None),
    }
}

/// All rows.
pub(crate) fn many<T>(
    connection: &rusqlite::Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(database)?;
    let mut rows = statement.query(params).map_err(database)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next().map_err(database)? {
        out.push(read(row)?);
    }
    Ok(out)
}

/// The rows of a table that can be read, and the ids of those that cannot: one owner's damage is
/// not that of the others in a queue.
pub(crate) fn readable<T>(
    connection: &rusqlite::Connection,
    table: &str,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<(Vec<T>, Vec<String>)> {
    let mut spoiled = Vec::new();
    let rows = many(connection, sql, params, |row| match read(row) {
        Err(StoreError::Corrupt { what }) => Ok(Err((what, row.get::<_, String>("id").ok()))),
        other => other.map(Ok),
    })?;
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        match row {
            Ok(row) => out.push(row),
            Err((what, id)) => {
                tracing::error!(
                    table,
                    id,
                    what,
                    "a stored row cannot be read; it is set aside, and the others go on"
                );
                spoiled.extend(id);
            }
        }
    }
    Ok((out, spoiled))
}

/// See [`millrace_store::set_aside`].
pub(crate) fn set_aside(
    connection: &rusqlite::Connection,
    table: &'static str,
    ids: &[String],
) -> StoreResult<()> {
    let Some(sql) = millrace_store::set_aside(table) else { return Ok(()) };
    for id in ids {
        execute(connection, sql, [id])?;
    }
    Ok(())
}

/// What a write claims of a queue: the rows that can be read; the others are set aside.
pub(crate) fn claimed<T>(
    connection: &rusqlite::Connection,
    table: &'static str,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    let (rows, spoiled) = readable(connection, table, sql, params, read)?;
    set_aside(connection, table, &spoiled)?;
    Ok(rows)
}

/// Rows changed.
pub(crate) fn execute(
    connection: &rusqlite::Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> StoreResult<usize> {
    connection.prepare_cached(sql).and_then(|mut s| s.execute(params)).map_err(database)
}

/// A number.
pub(crate) fn number(
    connection: &rusqlite::Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> StoreResult<i64> {
    connection
        .prepare_cached(sql)
        .and_then(|mut s| s.query_row(params, |row| row.get(0)))
        .map_err(database)
}

/// That the page has room for its texts; `sizes` gives their `bytes`, row by row.
pub(crate) fn make_room(
    c: &Connection,
    sizes: &str,
    params: &[&dyn ToSql],
    page: &Page,
) -> StoreResult<()> {
    let bytes = number(c, &format!("SELECT ifnull(sum(bytes), 0) FROM ({sizes})"), params)?;
    if page.room.take(u64::try_from(bytes).unwrap_or(0)) {
        Ok(())
    } else {
        Err(StoreError::NoMemory)
    }
}

/// The order in which a page is read: from its end where it goes back.
pub(crate) fn order(page: &Page) -> &'static str {
    if page.from_end() { "ASC" } else { "DESC" }
}

/// Puts what [`order`] gave in the order that is shown.
pub(crate) fn newest_first<T>(items: &mut [T], page: &Page) {
    if page.from_end() {
        items.reverse();
    }
}

/// Slugs of a table that are `base`, or begin with it and a number.
pub(crate) fn slugs(
    c: &Connection,
    table: &'static str,
    org: &OrgId,
    base: &str,
) -> StoreResult<Vec<String>> {
    let sql = format!(
        "SELECT name_slug FROM {table} WHERE org_id = ?1 AND (name_slug = ?2 OR substr(name_slug, 1, length(?2) + 1) = ?2 || '-')"
    );
    many(c, &sql, [org.as_str(), base], |row| row.get(0).map_err(database))
}

/// Tables that grow with what happens, and up to what number a list of them is counted: as runs
/// are.
const LONG: [&str; 3] = ["audit", "mail", "webhook_deliveries"];

const COUNTED_MAX: i64 = 1_000;

/// A page of a table, newest first. The cursor is an id; `UnknownCursor` where it names nothing.
/// `keys`: the parameters of the filter, `?1`, the organization, and on.
pub(crate) fn list<T>(
    c: &Connection,
    table: &str,
    filter: &str,
    keys: &[&str],
    page: &Page,
    read: impl Fn(&Row<'_>) -> StoreResult<T>,
) -> StoreResult<Listing<T>> {
    // `table` and `filter` are constants of this crate. A page without cursors is a statement of
    // its own, so that cursors bound what is read.
    let (n, order) = (keys.len(), order(page));
    let mut params: Vec<&dyn ToSql> = keys.iter().map(|key| -> &dyn ToSql { key }).collect();
    params.push(&page.limit);
    let mut clause = String::new();
    for (cursor, than) in [(&page.after, '<'), (&page.before, '>')] {
        if let Some(id) = cursor {
            params.push(id);
            clause.push_str(&format!(" AND (created_at, id) {than} (SELECT created_at, id FROM {table} WHERE id = ?{} AND org_id = ?1)", params.len()));
        }
    }
    let of_page = |columns: &str| {
        format!(
            "SELECT {columns} FROM {table} WHERE {filter}{clause} ORDER BY created_at {order}, id {order} LIMIT ?{}",
            n + 1
        )
    };
    if let Some(bytes) = row_bytes(table) {
        make_room(c, &of_page(&format!("{bytes} AS bytes")), params.as_slice(), page)?;
    }
    let (mut items, mut damaged) =
        readable(c, table, &of_page(columns(table)), params.as_slice(), read)?;
    if items.is_empty() && damaged.is_empty() {
        known(c, table, keys[0], page)?;
    }
    newest_first(&mut items, page);
    newest_first(&mut damaged, page);
    let counted = if LONG.contains(&table) { COUNTED_MAX } else { i64::MAX };
    let total = number(
        c,
        &format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {filter} LIMIT {counted})"),
        &params[..n],
    )?;
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0), damaged })
}

/// The columns that the records of a table are read from.
fn columns(table: &str) -> &'static str {
    match table {
        "sources" => SOURCE,
        "subscriptions" => NAMED_SUBSCRIPTION,
        "workflows" => WORKFLOW,
        "deployments" | "source_deployments" => DEPLOYMENT,
        _ => "*",
    }
}

/// That the cursors of a page which came out empty name rows of the organization's:
/// `UnknownCursor`.
pub(crate) fn known(c: &Connection, table: &str, org: &str, page: &Page) -> StoreResult<()> {
    for (name, id) in page.cursors() {
        if number(
            c,
            &format!("SELECT count(*) FROM {table} WHERE id = ?1 AND org_id = ?2"),
            [id, org],
        )? == 0
        {
            return Err(StoreError::UnknownCursor(name));
        }
    }
    Ok(())
}
