//! Data stores and their entries.

use millrace_model::clock::Timestamp;
use millrace_model::data_store::{DataStore, STORES_MAX};
use millrace_model::ids::{DataStoreId, OrgId};
use millrace_store::{
    DataStoreEntry, DataStorePage, DataStoreWrite, StoreError, StoreResult, end_of_prefix,
};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::db::database;
use crate::rows::{self, execute, many, number, one};

pub(crate) fn create(c: &Connection, s: &DataStore) -> StoreResult<()> {
    let added = execute(
        c,
        "INSERT INTO data_stores (id, org_id, name, keys, bytes, created_at, updated_at)
         SELECT ?1, ?2, ?3, 0, 0, ?4, ?5 WHERE (SELECT count(*) FROM data_stores WHERE org_id = ?2) < ?6",
        params![
            s.id.as_str(),
            s.org_id.as_str(),
            s.name,
            s.created_at.ms(),
            s.updated_at.ms(),
            STORES_MAX as i64
        ],
    )?;
    if added == 0 { Err(StoreError::Full) } else { Ok(()) }
}

pub(crate) fn rename(
    c: &Connection,
    org: &OrgId,
    id: &DataStoreId,
    name: &str,
    now: Timestamp,
) -> StoreResult<()> {
    let changed = execute(
        c,
        "UPDATE data_stores SET name = ?3, updated_at = ?4 WHERE id = ?1 AND org_id = ?2",
        params![id.as_str(), org.as_str(), name, now.ms()],
    )?;
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

pub(crate) fn delete(c: &Connection, org: &OrgId, id: &DataStoreId) -> StoreResult<bool> {
    execute(
        c,
        "DELETE FROM data_store_entries WHERE store_id = (SELECT id FROM data_stores WHERE id = ?1 AND org_id = ?2)",
        [id.as_str(), org.as_str()],
    )?;
    Ok(execute(
        c,
        "DELETE FROM data_stores WHERE id = ?1 AND org_id = ?2",
        [id.as_str(), org.as_str()],
    )? > 0)
}

/// Adds to what the store counts; false where it is gone.
fn count(c: &Connection, id: &str, keys: i64, bytes: i64) -> StoreResult<bool> {
    Ok(execute(
        c,
        "UPDATE data_stores SET keys = keys + ?2, bytes = bytes + ?3 WHERE id = ?1",
        params![id, keys, bytes],
    )? > 0)
}

/// Counts and bytes of removed rows.
fn removed(c: &Connection, sql: &str, params: impl rusqlite::Params) -> StoreResult<(i64, i64)> {
    let rows = many(c, sql, params, |row| row.get::<_, i64>(0).map_err(database))?;
    Ok((i64::try_from(rows.len()).unwrap_or(i64::MAX), rows.iter().sum()))
}

pub(crate) fn set(c: &Connection, w: &DataStoreWrite) -> StoreResult<()> {
    let (id, bytes) =
        (w.store_id.as_str(), i64::try_from(w.key.len() + w.value.len()).unwrap_or(i64::MAX));
    if !put(c, w, bytes)? {
        // What has ended makes room.
        let (keys, gone) = removed(
            c,
            "DELETE FROM data_store_entries WHERE store_id = ?1 AND expires_at <= ?2 RETURNING bytes",
            params![id, w.now.ms()],
        )?;
        count(c, id, -keys, -gone)?;
        if keys == 0 || !put(c, w, bytes)? {
            return Err(StoreError::Full);
        }
    }
    Ok(())
}

/// Writes the entry unless the store is full; says whether it did.
fn put(c: &Connection, w: &DataStoreWrite, bytes: i64) -> StoreResult<bool> {
    let id = w.store_id.as_str();
    let old: Option<i64> = c
        .prepare_cached("SELECT bytes FROM data_store_entries WHERE store_id = ?1 AND key = ?2")
        .and_then(|mut s| s.query_row([id, &w.key], |row| row.get(0)).optional())
        .map_err(database)?;
    let counted: Option<(i64, i64)> = c
        .prepare_cached("SELECT keys, bytes FROM data_stores WHERE id = ?1")
        .and_then(|mut s| s.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(database)?;
    let (keys, used) = counted.ok_or(StoreError::NotFound)?;
    let (more_keys, more_bytes) = (i64::from(old.is_none()), bytes - old.unwrap_or(0));
    let over =
        |now: i64, more: i64, max: u64| more > 0 && u64::try_from(now + more).unwrap_or(0) > max;
    if over(keys, more_keys, w.keys_max) || over(used, more_bytes, w.bytes_max) {
        return Ok(false);
    }
    execute(
        c,
        "INSERT INTO data_store_entries (store_id, key, value, bytes, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (store_id, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes, expires_at = excluded.expires_at",
        params![id, w.key, w.value, bytes, w.expires_at.map(Timestamp::ms)],
    )?;
    count(c, id, more_keys, more_bytes)
}

pub(crate) fn expire(
    c: &Connection,
    id: &DataStoreId,
    key: &str,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> StoreResult<bool> {
    let changed = execute(
        c,
        "UPDATE data_store_entries SET expires_at = ?3 WHERE store_id = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?4)",
        params![id.as_str(), key, expires_at.map(Timestamp::ms), now.ms()],
    )?;
    Ok(changed > 0)
}

pub(crate) fn delete_key(c: &Connection, id: &DataStoreId, key: &str) -> StoreResult<bool> {
    let (keys, bytes) = removed(
        c,
        "DELETE FROM data_store_entries WHERE store_id = ?1 AND key = ?2 RETURNING bytes",
        [id.as_str(), key],
    )?;
    count(c, id.as_str(), -keys, -bytes)?;
    Ok(keys > 0)
}

/// The newest entry of any store, as its row.
pub(crate) fn newest_row(c: &Connection) -> StoreResult<Option<i64>> {
    one(c, "SELECT max(rowid) FROM data_store_entries", [], |row| row.get(0).map_err(database))
        .map(Option::flatten)
}

/// Removes up to `limit` entries whose rows are no later than `upto`; how many.
pub(crate) fn clear_some(
    c: &Connection,
    id: &DataStoreId,
    upto: i64,
    limit: u32,
) -> StoreResult<i64> {
    let (keys, bytes) = removed(
        c,
        "DELETE FROM data_store_entries WHERE rowid IN (SELECT rowid FROM data_store_entries WHERE store_id = ?1 AND rowid <= ?2 LIMIT ?3) RETURNING bytes",
        params![id.as_str(), upto, limit],
    )?;
    count(c, id.as_str(), -keys, -bytes)?;
    Ok(keys)
}

/// Of all keys: what the store counts, without what has ended and is not cleared away yet.
pub(crate) fn size(
    c: &Connection,
    id: &DataStoreId,
    prefix: &str,
    now: Timestamp,
) -> StoreResult<u64> {
    let count = if prefix.is_empty() {
        let sql = "SELECT coalesce((SELECT keys FROM data_stores WHERE id = ?1), 0)
                 - (SELECT count(*) FROM data_store_entries INDEXED BY data_store_entries_ending WHERE store_id = ?1 AND expires_at <= ?2)";
        number(c, sql, params![id.as_str(), now.ms()])?
    } else {
        // Where nothing is behind the prefix, a blob is: it is behind every text.
        let sql = "SELECT count(*) FROM data_store_entries WHERE store_id = ?1 AND key >= ?2 AND key < coalesce(?3, x'') AND (expires_at IS NULL OR expires_at > ?4)";
        number(c, sql, params![id.as_str(), prefix, end_of_prefix(prefix), now.ms()])?
    };
    Ok(u64::try_from(count).unwrap_or(0))
}

pub(crate) fn keys(
    c: &Connection,
    id: &DataStoreId,
    p: &DataStorePage,
) -> StoreResult<Vec<String>> {
    many(
        c,
        "SELECT key FROM data_store_entries WHERE store_id = ?1 AND key > ?2 AND key >= ?5 AND substr(key, 1, length(?5)) = ?5 AND (expires_at IS NULL OR expires_at > ?3)
         ORDER BY key LIMIT ?4",
        params![id.as_str(), p.after.as_deref().unwrap_or(""), p.now.ms(), p.limit, p.prefix],
        |row| row.get(0).map_err(database),
    )
}

pub(crate) fn entries(
    c: &Connection,
    id: &DataStoreId,
    p: &DataStorePage,
    bytes_max: usize,
) -> StoreResult<Vec<DataStoreEntry>> {
    let sql = "SELECT key, value, expires_at FROM data_store_entries WHERE store_id = ?1 AND key > ?2 AND key >= ?5 AND substr(key, 1, length(?5)) = ?5
           AND (expires_at IS NULL OR expires_at > ?3) ORDER BY key LIMIT ?4";
    let mut statement = c.prepare_cached(sql).map_err(database)?;
    let mut rows = statement
        .query(params![
            id.as_str(),
            p.after.as_deref().unwrap_or(""),
            p.now.ms(),
            p.limit,
            p.prefix
        ])
        .map_err(database)?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next().map_err(database)? {
        let entry = rows::data_store_entry(row)?;
        bytes += entry.value.len();
        if bytes > bytes_max && !entries.is_empty() {
            break;
        }
        entries.push(entry);
    }
    Ok(entries)
}

pub(crate) fn purge(c: &Connection, now: Timestamp, limit: u32) -> StoreResult<u64> {
    let ended = many(
        c,
        "DELETE FROM data_store_entries WHERE rowid IN (SELECT rowid FROM data_store_entries WHERE expires_at <= ?1 LIMIT ?2) RETURNING store_id, bytes",
        params![now.ms(), limit],
        |row| {
            Ok((
                row.get::<_, String>(0).map_err(database)?,
                row.get::<_, i64>(1).map_err(database)?,
            ))
        },
    )?;
    for (store, bytes) in &ended {
        count(c, store, -1, -bytes)?;
    }
    Ok(ended.len() as u64)
}
