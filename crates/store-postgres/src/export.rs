//! History as it is at one moment, handed over piece by piece.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{EventId, OrgId};
use millrace_store::{ExportFilter, Exported, StoreResult, run_row_columns};
use tokio::sync::mpsc::Sender;
use tokio_postgres::{IsolationLevel, Row};

use crate::db::{database, text};
use crate::{retention, rows};

/// Rows that are fetched first, and at least and at most then.
const ROWS_FIRST: i32 = 10;
const ROWS_MIN: i32 = 1;
const ROWS_MAX: i32 = 5_000;
/// What is fetched at once should be about as large, bytes: small rows go many to a round trip, and
/// large ones do not fill the memory.
const STEP_BYTES: usize = 1 << 20;

/// How long the connection may say nothing while rows are taken. The engine gives up a client that
/// takes too little; this is for a server that stands still, and so long that rows of a step, of
/// some MiB each, are taken at 64 KiB a second.
const IDLE_MAX: &str = "SET LOCAL idle_in_transaction_session_timeout = '10min'";

pub(crate) async fn export(
    c: &mut Client,
    org: &OrgId,
    filter: &ExportFilter,
    out: &Sender<Exported>,
) -> StoreResult<()> {
    let t = c
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await
        .map_err(database)?;
    t.batch_execute(IDLE_MAX).await.map_err(database)?;
    let (from, to) =
        (filter.from.map_or(i64::MIN, Timestamp::ms), filter.to.map_or(i64::MAX, Timestamp::ms));
    let ordinal = |time: Option<Timestamp>, none| time.map_or(none, EventId::ordinal_at);
    let (first, last) = (ordinal(filter.from, i64::MIN), ordinal(filter.to, i64::MAX));
    let mut after = String::new();
    loop {
        let owner = match &filter.owner {
            Some(owner) if after.is_empty() => text(owner).into_owned(),
            Some(_) => return Ok(()),
            None => match retention::owners(&t, &after, 1).await?.pop() {
                Some(owner) => owner,
                None => return Ok(()),
            },
        };
        let of = |columns: &str, table: &str, owner: &str, time: &str, order: &str| {
            format!(
                "SELECT {columns} FROM {table} WHERE {owner} = $1 AND org_id = $2 AND {time} >= $3 AND {time} < $4 ORDER BY {order}"
            )
        };
        let runs = of(&run_row_columns(), "runs", "owner_id", "created_at", "created_at, id");
        let logs = of(rows::LOG_LINE, "logs", "owner_id", "at", "at, seq");
        let events = of(rows::EVENT, "events", "emitter_id", "ordinal", "ordinal");
        let log = |row: &Row| {
            rows::log_line(row).map(|(run_id, line)| Exported::Log {
                owner: owner.clone(),
                run_id,
                line,
            })
        };
        let org = org.as_str();
        let whole = hand_over(&t, &runs, &[&owner, &org, &from, &to], out, |row| {
            rows::run(row).map(|run| Exported::Run(Box::new(run)))
        })
        .await?
            && hand_over(&t, &logs, &[&owner, &org, &from, &to], out, log).await?
            && hand_over(&t, &events, &[&owner, &org, &first, &last], out, |row| {
                rows::event(row).map(Exported::Event)
            })
            .await?;
        if !whole {
            return Ok(());
        }
        after = owner;
    }
}

/// Whether all was taken. The next rows come while those before are handed over.
async fn hand_over(
    t: &Transaction<'_>,
    sql: &str,
    values: rows::Params<'_>,
    out: &Sender<Exported>,
    read: impl Fn(&Row) -> StoreResult<Exported>,
) -> StoreResult<bool> {
    let statement = t.prepare_cached(sql).await.map_err(database)?;
    let portal = t.bind(&statement, values).await.map_err(database)?;
    let fetch = async |count: i32| t.query_portal(&portal, count).await.map_err(database);
    let mut count = ROWS_FIRST;
    let mut rows = fetch(count).await?;
    loop {
        let is_last = rows.len() < usize::try_from(count).unwrap_or(0);
        count = next_count(rows.len(), rows.iter().map(Row::raw_size_bytes).sum());
        let next = async { if is_last { Ok(Vec::new()) } else { fetch(count).await } };
        let hand = async {
            for row in &rows {
                if out.send(read(row)?).await.is_err() {
                    return Ok(false);
                }
            }
            StoreResult::Ok(true)
        };
        let (next, was_taken) = tokio::join!(next, hand);
        if !was_taken? {
            return Ok(false);
        }
        rows = next?;
        if is_last {
            return Ok(true);
        }
    }
}

/// How many rows to fetch after so many that had so many bytes.
fn next_count(rows: usize, bytes: usize) -> i32 {
    let fit = rows.saturating_mul(STEP_BYTES) / bytes.max(1);
    i32::try_from(fit).unwrap_or(ROWS_MAX).clamp(ROWS_MIN, ROWS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_large_as_its_rows_are_small() {
        assert_eq!(next_count(100, 100 * 1024), 1024);
        assert_eq!(
            (next_count(100, 100), next_count(100, 600 << 20), next_count(0, 0)),
            (ROWS_MAX, ROWS_MIN, ROWS_MIN)
        );
    }
}
