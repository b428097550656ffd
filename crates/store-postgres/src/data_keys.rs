//! Keys that secrets are sealed under.

use deadpool_postgres::{Client, Transaction};
use millrace_store::{DataKey, StoreError, StoreResult};

use crate::db::database;
use crate::rows::{execute, many, number, one};

/// The advisory lock of the first data key.
const LOCK: i64 = 0x6d69_6c6c_6b65_7973;

/// Of servers that start at once one makes it. SQLite has one writer.
pub(crate) async fn add_first(t: &Transaction<'_>, key: &DataKey) -> StoreResult<bool> {
    execute(t, "SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let sql = "INSERT INTO data_keys (id, master_id, wrapped, created_at) SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM data_keys)";
    Ok(execute(t, sql, &[&key.id.as_str(), &key.master_id, &key.wrapped, &key.created_at.ms()])
        .await?
        > 0)
}

pub(crate) async fn rewrap(t: &Transaction<'_>, from: &str, keys: &[DataKey]) -> StoreResult<()> {
    for key in keys {
        let sql =
            "UPDATE data_keys SET master_id = $3, wrapped = $4 WHERE id = $1 AND master_id = $2";
        if execute(t, sql, &[&key.id.as_str(), &from, &key.master_id, &key.wrapped]).await? == 0 {
            return Err(StoreError::StateChanged);
        }
    }
    // One that is left out would be lost with its master key.
    match one(t, "SELECT 1 FROM data_keys WHERE master_id = $1 LIMIT 1", &[&from], |_| Ok(()))
        .await?
    {
        None => Ok(()),
        Some(()) => Err(StoreError::StateChanged),
    }
}

/// The ids of the master keys that all are wrapped under; none in a schema of before there were
/// data keys.
pub(crate) async fn master_ids(client: &Client) -> StoreResult<Vec<String>> {
    match number(client, "SELECT count(*) FROM pg_class WHERE oid = to_regclass('data_keys')", &[])
        .await?
    {
        0 => Ok(Vec::new()),
        _ => {
            many(client, "SELECT DISTINCT master_id FROM data_keys", &[], |row| {
                row.try_get(0).map_err(database)
            })
            .await
        }
    }
}
