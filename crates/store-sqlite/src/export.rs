//! History as it is at one moment, handed over piece by piece.

use millrace_model::clock::Timestamp;
use millrace_model::error_chain;
use millrace_model::ids::{EventId, OrgId};
use millrace_store::{ExportFilter, Exported, StoreError, StoreResult, run_row_columns};
use rusqlite::{Connection, Params, Row, params};
use tokio::sync::mpsc::Sender;

use crate::db::database;
use crate::{retention, rows};

/// The connection is in a transaction: what it reads is of one moment, and until it ends the file
/// keeps all that was changed since. Who takes the pieces bounds that, and goes away where it takes
/// too long.
pub(crate) fn export(
    c: &Connection,
    org: &OrgId,
    filter: &ExportFilter,
    out: &Sender<Exported>,
) -> StoreResult<()> {
    let (from, to) =
        (filter.from.map_or(i64::MIN, Timestamp::ms), filter.to.map_or(i64::MAX, Timestamp::ms));
    let ordinal = |time: Option<Timestamp>, none| time.map_or(none, EventId::ordinal_at);
    let (first, last) = (ordinal(filter.from, i64::MIN), ordinal(filter.to, i64::MAX));
    let mut after = String::new();
    loop {
        let owner = match &filter.owner {
            Some(owner) if after.is_empty() => owner.clone(),
            Some(_) => return Ok(()),
            None => match retention::owners(c, after, 1)?.pop() {
                Some(owner) => owner,
                None => return Ok(()),
            },
        };
        let runs = format!(
            "SELECT {} FROM runs INDEXED BY runs_owner WHERE owner_id = ?1 AND org_id = ?2 AND created_at >= ?3 AND created_at < ?4 ORDER BY created_at, id",
            run_row_columns()
        );
        let logs = "SELECT * FROM logs WHERE owner_id = ?1 AND org_id = ?2 AND at >= ?3 AND at < ?4 ORDER BY at, rowid";
        let events = "SELECT * FROM events WHERE emitter_id = ?1 AND org_id = ?2 AND ordinal >= ?3 AND ordinal < ?4 ORDER BY ordinal";
        let log = |row: &Row<'_>| {
            rows::log_line(row).map(|(run_id, line)| Exported::Log {
                owner: owner.clone(),
                run_id,
                line,
            })
        };
        let whole = hand_over(c, &runs, params![owner, org.as_str(), from, to], out, |row| {
            rows::run(row).map(|run| Exported::Run(Box::new(run)))
        })? && hand_over(c, logs, params![owner, org.as_str(), from, to], out, log)?
            && hand_over(c, events, params![owner, org.as_str(), first, last], out, |row| {
                rows::event(row).map(Exported::Event)
            })?;
        if !whole {
            return Ok(());
        }
        after = owner;
    }
}

/// Whether all was taken.
fn hand_over(
    c: &Connection,
    sql: &str,
    values: impl Params,
    out: &Sender<Exported>,
    read: impl Fn(&Row<'_>) -> StoreResult<Exported>,
) -> StoreResult<bool> {
    let mut statement = c.prepare_cached(sql).map_err(database)?;
    let mut rows = statement.query(values).map_err(database)?;
    while let Some(row) = rows.next().map_err(database)? {
        if out.blocking_send(read(row).map_err(|error| unreadable(row, &error))?).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Which row it was: of a damaged file the rest is worth having, once that one is gone.
fn unreadable(row: &Row<'_>, error: &StoreError) -> StoreError {
    let id = ["id", "run_id"]
        .into_iter()
        .find_map(|column| row.get::<_, String>(column).ok())
        .unwrap_or_default();
    StoreError::Corrupt { what: format!("`{id}`: {}", error_chain(error)) }
}
