//! Keys that secrets are sealed under.

use millrace_store::{DataKey, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{execute, many, number};

pub(crate) fn add_first(c: &Connection, key: &DataKey) -> StoreResult<bool> {
    let sql = "INSERT INTO data_keys (id, master_id, wrapped, created_at) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM data_keys)";
    Ok(execute(c, sql, params![key.id.as_str(), key.master_id, key.wrapped, key.created_at.ms()])?
        > 0)
}

pub(crate) fn rewrap(c: &Connection, from: &str, keys: &[DataKey]) -> StoreResult<()> {
    for key in keys {
        let sql =
            "UPDATE data_keys SET master_id = ?3, wrapped = ?4 WHERE id = ?1 AND master_id = ?2";
        if execute(c, sql, params![key.id.as_str(), from, key.master_id, key.wrapped])? == 0 {
            return Err(StoreError::StateChanged);
        }
    }
    // One that is left out would be lost with its master key.
    match number(c, "SELECT count(*) FROM data_keys WHERE master_id = ?1", [from])? {
        0 => Ok(()),
        _ => Err(StoreError::StateChanged),
    }
}

/// The ids of the master keys that all are wrapped under; none in a schema of before there were
/// data keys.
pub(crate) fn master_ids(c: &Connection) -> StoreResult<Vec<String>> {
    match number(c, "SELECT count(*) FROM sqlite_schema WHERE name = 'data_keys'", [])? {
        0 => Ok(Vec::new()),
        _ => many(c, "SELECT DISTINCT master_id FROM data_keys", [], |row| {
            row.get(0).map_err(database)
        }),
    }
}
