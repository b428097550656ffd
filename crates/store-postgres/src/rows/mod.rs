//! Mapping of rows to the product's records. A row that does not fit is an error, never a panic.
//! Columns by name, where SQLite has `*`: a statement that was prepared as `*` fails once a newer
//! server adds a column.

mod components;
mod owners;
mod runs;
mod sends;
mod stored;
mod tenants;

use std::borrow::Cow;

use deadpool_postgres::{Client, GenericClient};
use millrace_model::clock::Timestamp;
use millrace_model::page::{Listing, Page};
use millrace_model::webhook::WebhookAttempt;
use millrace_store::{StoreError, StoreResult, row_bytes};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::db::{database, text};

pub(crate) use components::*;
pub(crate) use owners::*;
pub(crate) use runs::*;
pub(crate) use sends::*;
pub(crate) use stored::*;
pub(crate) use tenants::*;

/// Tables that grow with what happens, and up to what number a list of them is counted: as runs
/// are.
const LONG: [&str; 3] = ["audit", "mail", "webhook_deliveries"];

const COUNTED_MAX: i64 = 1_000;

/// Reads a column.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: &str) -> StoreResult<T> {
    row.try_get(column).map_err(database)
}

fn time(row: &Row, column: &str) -> StoreResult<Timestamp> {
    get(row, column).map(Timestamp)
}

fn json<T: DeserializeOwned>(row: &Row, column: &str) -> StoreResult<T> {
    millrace_model::json::from_str(get(row, column)?).map_err(|e| corrupt_json(column, &e))
}

fn optional_json<T: DeserializeOwned>(row: &Row, column: &str) -> StoreResult<Option<T>> {
    match get::<Option<&str>>(row, column)? {
        Some(_) => json(row, column).map(Some),
        None => Ok(None),
    }
}

/// A text that is kept as BYTEA (see the schema).
fn utf8(row: &Row, column: &str) -> StoreResult<String> {
    String::from_utf8(get(row, column)?).map_err(|_| corrupt(column))
}

/// What `read` makes of a text.
fn with_text<T>(row: &Row, column: &str, read: impl FnOnce(&str) -> T) -> StoreResult<T> {
    get(row, column).map(read)
}

/// A text that is one of a few.
fn parsed<T>(row: &Row, column: &str, parse: fn(&str) -> Option<T>) -> StoreResult<T> {
    with_text(row, column, parse)?.ok_or_else(|| corrupt(column))
}

fn payload_bytes(row: &Row) -> StoreResult<usize> {
    Ok(usize::try_from(get::<i32>(row, "payload_bytes")?).unwrap_or(0))
}

fn attempt_log(row: &Row) -> StoreResult<Vec<WebhookAttempt>> {
    get::<Vec<&str>>(row, "attempt_log")?
        .into_iter()
        .map(|attempt| {
            millrace_model::json::from_str(attempt).map_err(|e| corrupt_json("attempt_log", &e))
        })
        .collect()
}

fn corrupt_json(column: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: format!("the column {column}: {error}") }
}

pub(crate) fn corrupt(column: &str) -> StoreError {
    StoreError::Corrupt { what: format!("the column {column}") }
}

/// Values of a statement's parameters.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A table that is listed by page, newest first.
pub(crate) struct Table<'a> {
    /// Its name.
    pub(crate) name: &'static str,
    /// The columns that its records are read from.
    pub(crate) columns: &'static str,
    /// Which rows; `$1`, the organization, and on are the filter's own.
    pub(crate) filter: &'a str,
}

/// The cursors of a page, as parameters.
pub(crate) struct Cursors<'a> {
    after: Option<Cow<'a, str>>,
    before: Option<Cow<'a, str>>,
}

impl<'a> Cursors<'a> {
    pub(crate) fn of(page: &'a Page) -> Self {
        Self { after: page.after.as_deref().map(text), before: page.before.as_deref().map(text) }
    }

    /// The condition on `table`, whose parameters begin at `first`; empty without cursors, so that
    /// the plan of a first page is one of its own. The cursor is an id; `org`: the number of the
    /// organization's parameter. An unknown one gives nothing, which [`known`] tells from an empty
    /// page.
    pub(crate) fn clause(&self, table: &str, org: usize, first: usize) -> String {
        let mut clause = String::new();
        let given = [(&self.after, '<'), (&self.before, '>')]
            .into_iter()
            .filter(|(cursor, _)| cursor.is_some());
        for (number, (_, than)) in (first..).zip(given) {
            clause.push_str(&format!(" AND (created_at, id) {than} (SELECT created_at, id FROM {table} WHERE id = ${number} AND org_id = ${org})"));
        }
        clause
    }

    /// Adds the parameters of [`Cursors::clause`].
    pub(crate) fn push<'b>(&'b self, params: &mut Vec<&'b (dyn ToSql + Sync)>) {
        params.extend(
            [&self.after, &self.before]
                .into_iter()
                .flatten()
                .map(|cursor| -> &(dyn ToSql + Sync) { cursor }),
        );
    }
}

/// A page of a table, newest first. `filter`: the parameters of the table's filter.
pub(crate) async fn list<T>(
    c: &Client,
    table: &Table<'_>,
    filter: Params<'_>,
    page: &Page,
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<Listing<T>> {
    let (limit, cursors) = (i64::from(page.limit), Cursors::of(page));
    let mut params = filter.to_vec();
    params.push(&limit);
    let (clause, order) = (cursors.clause(table.name, 1, params.len() + 1), order(page));
    cursors.push(&mut params);
    let of_page = |columns: &str| {
        let (name, rows, n) = (table.name, table.filter, filter.len() + 1);
        format!(
            "SELECT {columns} FROM {name} WHERE {rows}{clause} ORDER BY created_at {order}, id {order} LIMIT ${n}"
        )
    };
    if let Some(bytes) = row_bytes(table.name) {
        make_room(c, &of_page(&format!("{bytes} AS bytes")), &params, page).await?;
    }
    let items = of_page(table.columns);
    let counted = if LONG.contains(&table.name) { COUNTED_MAX } else { i64::MAX };
    let count = format!(
        "SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {counted}) AS counted",
        table.name, table.filter
    );
    let mut listing =
        counted_first(number(c, &count, filter), readable(c, table.name, &items, &params, read))
            .await?;
    if listing.items.is_empty() && listing.damaged.is_empty() {
        known(c, table.name, filter[0], page).await?;
    }
    newest_first(&mut listing.items, page);
    newest_first(&mut listing.damaged, page);
    Ok(listing)
}

/// A page with its count: what was counted is there when the page is read, and what came between is
/// counted with it.
pub(crate) async fn counted_first<T>(
    count: impl Future<Output = StoreResult<i64>>,
    items: impl Future<Output = StoreResult<(Vec<T>, Vec<String>)>>,
) -> StoreResult<Listing<T>> {
    // The connection answers in the order in which it is asked.
    let (total, (items, damaged)) = tokio::try_join!(biased; count, items)?;
    let total_count = u64::try_from(total).unwrap_or(0).max((items.len() + damaged.len()) as u64);
    Ok(Listing { items, total_count, damaged })
}

/// That the cursors of a page which came out empty name rows of the organization's:
/// `UnknownCursor`.
pub(crate) async fn known(
    c: &Client,
    table: &str,
    org: &(dyn ToSql + Sync),
    page: &Page,
) -> StoreResult<()> {
    for (name, id) in page.cursors() {
        let sql = format!("SELECT count(*) FROM {table} WHERE id = $1 AND org_id = $2");
        if number(c, &sql, &[&text(id), org]).await? == 0 {
            return Err(StoreError::UnknownCursor(name));
        }
    }
    Ok(())
}

/// One row or none.
pub(crate) async fn one<T>(
    c: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<Option<T>> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    let row = c.query_opt(&statement, params).await.map_err(database)?;
    row.as_ref().map(read).transpose()
}

/// All rows.
pub(crate) async fn many<T>(
    c: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    let rows = c.query(&statement, params).await.map_err(database)?;
    rows.iter().map(read).collect()
}

/// The rows of a table's queue that can be read; the others are set aside (see
/// [`millrace_store::set_aside`]): one owner's damage is not that of the others.
pub(crate) async fn claimed<T>(
    c: &impl GenericClient,
    table: &'static str,
    sql: &str,
    params: Params<'_>,
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    let (out, damaged) = readable(c, table, sql, params, read).await?;
    if let Some(sql) = millrace_store::set_aside(table) {
        for id in damaged {
            execute(c, sql, &[&id]).await?;
        }
    }
    Ok(out)
}

/// The rows of a table that can be read, and the ids of those that cannot.
pub(crate) async fn readable<T>(
    c: &impl GenericClient,
    table: &str,
    sql: &str,
    params: Params<'_>,
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<(Vec<T>, Vec<String>)> {
    let rows = many(c, sql, params, |row| match read(row) {
        Err(StoreError::Corrupt { what }) => Ok(Err((what, row.try_get::<_, String>("id").ok()))),
        other => other.map(Ok),
    })
    .await?;
    let (mut out, mut damaged) = (Vec::with_capacity(rows.len()), Vec::new());
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
                damaged.extend(id);
            }
        }
    }
    Ok((out, damaged))
}

/// Rows changed.
pub(crate) async fn execute(
    c: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> StoreResult<u64> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    c.execute(&statement, params).await.map_err(database)
}

/// A number.
pub(crate) async fn number(
    c: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> StoreResult<i64> {
    let statement = c.prepare_cached(sql).await.map_err(database)?;
    c.query_one(&statement, params).await.and_then(|row| row.try_get(0)).map_err(database)
}

/// That the page has room for its texts; `sizes` gives their `bytes`, row by row.
pub(crate) async fn make_room(
    c: &Client,
    sizes: &str,
    params: Params<'_>,
    page: &Page,
) -> StoreResult<()> {
    let bytes = number(
        c,
        &format!("SELECT coalesce(sum(bytes), 0)::bigint FROM ({sizes}) AS sizes"),
        params,
    )
    .await?;
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
