//! Data stores and their entries.
//!
//! What changes a store's entries first takes the lock of its row in `data_stores`, whose counts it
//! changes as well: writers of one store wait for each other, in one direction only.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::data_store::{DataStore, STORES_MAX};
use millrace_model::ids::{DataStoreId, OrgId};
use millrace_store::{
    DataStoreEntry, DataStorePage, DataStoreWrite, StoreError, StoreResult, end_of_prefix,
};

use crate::db::{database, text};
use crate::rows::{self, corrupt, execute, many, number, one};

/// Creations of an organization come one after the other, so that none is counted too late.
pub(crate) async fn create(t: &Transaction<'_>, s: &DataStore) -> StoreResult<()> {
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('data stores ' || $1::text, 0))";
    execute(t, lock, &[&s.org_id.as_str()]).await?;
    let added = execute(
        t,
        "INSERT INTO data_stores (id, org_id, name, keys, bytes, created_at, updated_at)
         SELECT $1::text, $2::text, $3::text, 0, 0, $4::bigint, $5::bigint
         WHERE (SELECT count(*) FROM data_stores WHERE org_id = $2::text) < $6::bigint",
        &[
            &s.id.as_str(),
            &s.org_id.as_str(),
            &text(&s.name),
            &s.created_at.ms(),
            &s.updated_at.ms(),
            &(STORES_MAX as i64),
        ],
    )
    .await?;
    if added == 0 { Err(StoreError::Full) } else { Ok(()) }
}

pub(crate) async fn rename(
    c: &Client,
    org: &OrgId,
    id: &DataStoreId,
    name: &str,
    now: Timestamp,
) -> StoreResult<()> {
    let sql = "UPDATE data_stores SET name = $3, updated_at = $4 WHERE id = $1 AND org_id = $2";
    if execute(c, sql, &[&id.as_str(), &org.as_str(), &text(name), &now.ms()]).await? == 0 {
        Err(StoreError::NotFound)
    } else {
        Ok(())
    }
}

pub(crate) async fn delete(
    t: &Transaction<'_>,
    org: &OrgId,
    id: &DataStoreId,
) -> StoreResult<bool> {
    let found = one(
        t,
        "SELECT 1 FROM data_stores WHERE id = $1 AND org_id = $2 FOR UPDATE",
        &[&id.as_str(), &org.as_str()],
        |_| Ok(()),
    )
    .await?;
    if found.is_none() {
        return Ok(false);
    }
    execute(t, "DELETE FROM data_store_entries WHERE store_id = $1", &[&id.as_str()]).await?;
    execute(t, "DELETE FROM data_stores WHERE id = $1", &[&id.as_str()]).await?;
    Ok(true)
}

/// Takes the store's lock and gives its counts.
async fn lock(t: &Transaction<'_>, id: &str) -> StoreResult<Option<(i64, i64)>> {
    one(t, "SELECT keys, bytes FROM data_stores WHERE id = $1 FOR UPDATE", &[&id], |row| {
        Ok((row.try_get(0).map_err(database)?, row.try_get(1).map_err(database)?))
    })
    .await
}

async fn count(t: &Transaction<'_>, id: &str, keys: i64, bytes: i64) -> StoreResult<()> {
    execute(
        t,
        "UPDATE data_stores SET keys = keys + $2, bytes = bytes + $3 WHERE id = $1",
        &[&id, &keys, &bytes],
    )
    .await?;
    Ok(())
}

pub(crate) async fn set(t: &Transaction<'_>, w: &DataStoreWrite) -> StoreResult<()> {
    let (id, key) = (w.store_id.as_str(), w.key.as_bytes());
    let bytes = i64::try_from(w.key.len() + w.value.len()).unwrap_or(i64::MAX);
    let (mut keys, mut used) = lock(t, id).await?.ok_or(StoreError::NotFound)?;
    let mut ended = false;
    let (more_keys, more_bytes) = loop {
        let old = one(
            t,
            "SELECT bytes FROM data_store_entries WHERE store_id = $1 AND sha256(key) = sha256($2)",
            &[&id, &key],
            |row| row.try_get::<_, i64>(0).map_err(database),
        )
        .await?;
        let (more_keys, more_bytes) = (i64::from(old.is_none()), bytes - old.unwrap_or(0));
        let over = |now: i64, more: i64, max: u64| {
            more > 0 && u64::try_from(now + more).unwrap_or(0) > max
        };
        if !over(keys, more_keys, w.keys_max) && !over(used, more_bytes, w.bytes_max) {
            break (more_keys, more_bytes);
        }
        if std::mem::replace(&mut ended, true) {
            return Err(StoreError::Full);
        }
        // What has ended makes room.
        let sql = "DELETE FROM data_store_entries WHERE store_id = $1 AND expires_at <= $2 RETURNING bytes";
        let gone: Vec<i64> =
            many(t, sql, &[&id, &w.now.ms()], |row| row.try_get(0).map_err(database)).await?;
        let (gone_keys, gone_bytes) =
            (i64::try_from(gone.len()).unwrap_or(i64::MAX), gone.iter().sum::<i64>());
        count(t, id, -gone_keys, -gone_bytes).await?;
        (keys, used) = (keys - gone_keys, used - gone_bytes);
    };
    execute(
        t,
        "INSERT INTO data_store_entries (store_id, key, value, bytes, expires_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (store_id, sha256(key)) DO UPDATE SET value = excluded.value, bytes = excluded.bytes, expires_at = excluded.expires_at",
        &[&id, &key, &w.value, &bytes, &w.expires_at.map(Timestamp::ms)],
    )
    .await?;
    count(t, id, more_keys, more_bytes).await
}

pub(crate) async fn expire(
    c: &Client,
    id: &DataStoreId,
    key: &str,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> StoreResult<bool> {
    let sql = "UPDATE data_store_entries SET expires_at = $3 WHERE store_id = $1 AND sha256(key) = sha256($2) AND (expires_at IS NULL OR expires_at > $4)";
    Ok(execute(c, sql, &[&id.as_str(), &key.as_bytes(), &expires_at.map(Timestamp::ms), &now.ms()])
        .await?
        > 0)
}

pub(crate) async fn delete_key(
    t: &Transaction<'_>,
    id: &DataStoreId,
    key: &str,
) -> StoreResult<bool> {
    lock(t, id.as_str()).await?;
    let sql = "DELETE FROM data_store_entries WHERE store_id = $1 AND sha256(key) = sha256($2) RETURNING bytes";
    match one(t, sql, &[&id.as_str(), &key.as_bytes()], |row| {
        row.try_get::<_, i64>(0).map_err(database)
    })
    .await?
    {
        Some(bytes) => count(t, id.as_str(), -1, -bytes).await.map(|()| true),
        None => Ok(false),
    }
}

pub(crate) async fn clear(t: &Transaction<'_>, id: &DataStoreId) -> StoreResult<()> {
    lock(t, id.as_str()).await?;
    execute(t, "DELETE FROM data_store_entries WHERE store_id = $1", &[&id.as_str()]).await?;
    execute(t, "UPDATE data_stores SET keys = 0, bytes = 0 WHERE id = $1", &[&id.as_str()]).await?;
    Ok(())
}

pub(crate) async fn entry(
    c: &Client,
    id: &DataStoreId,
    key: &str,
    now: Timestamp,
) -> StoreResult<Option<DataStoreEntry>> {
    let sql = "SELECT key, value, expires_at FROM data_store_entries WHERE store_id = $1 AND sha256(key) = sha256($2) AND (expires_at IS NULL OR expires_at > $3)";
    one(c, sql, &[&id.as_str(), &key.as_bytes(), &now.ms()], rows::data_store_entry).await
}

/// Of all keys: what the store counts, without what has ended and is not cleared away yet.
pub(crate) async fn size(
    c: &Client,
    id: &DataStoreId,
    prefix: &str,
    now: Timestamp,
) -> StoreResult<u64> {
    let count = if prefix.is_empty() {
        let sql = "SELECT coalesce((SELECT keys FROM data_stores WHERE id = $1), 0)
                 - (SELECT count(*) FROM data_store_entries WHERE store_id = $1 AND expires_at <= $2)";
        number(c, sql, &[&id.as_str(), &now.ms()]).await?
    } else {
        // The index holds the start of the key only; the second conditions decide.
        let sql = "SELECT count(*) FROM data_store_entries WHERE store_id = $1 AND substring(key FROM 1 FOR 1000) >= substring($2::bytea FROM 1 FOR 1000)
                 AND ($3::bytea IS NULL OR substring(key FROM 1 FOR 1000) <= substring($3 FROM 1 FOR 1000))
                 AND key >= $2 AND ($3 IS NULL OR key < $3) AND (expires_at IS NULL OR expires_at > $4)";
        let end = end_of_prefix(prefix).map(String::into_bytes);
        number(c, sql, &[&id.as_str(), &prefix.as_bytes(), &end, &now.ms()]).await?
    };
    Ok(u64::try_from(count).unwrap_or(0))
}

/// The first condition and order are those of the index, which holds the start of the key only; the
/// second ones decide.
const PAGE: &str = "FROM data_store_entries WHERE store_id = $1 AND substring(key FROM 1 FOR 1000) >= substring($2::bytea FROM 1 FOR 1000) AND key > $2
  AND key >= $5 AND substring(key FROM 1 FOR octet_length($5::bytea)) = $5 AND (expires_at IS NULL OR expires_at > $3) ORDER BY substring(key FROM 1 FOR 1000), key LIMIT $4";

pub(crate) async fn keys(
    c: &Client,
    id: &DataStoreId,
    p: &DataStorePage,
) -> StoreResult<Vec<String>> {
    let after = p.after.as_deref().unwrap_or("").as_bytes();
    many(
        c,
        &format!("SELECT key {PAGE}"),
        &[&id.as_str(), &after, &p.now.ms(), &i64::from(p.limit), &p.prefix.as_bytes()],
        |row| String::from_utf8(row.try_get(0).map_err(database)?).map_err(|_| corrupt("key")),
    )
    .await
}

/// Sizes are summed up before the values are read; SQLite, which hands out row by row, stops in
/// time.
pub(crate) async fn entries(
    c: &Client,
    id: &DataStoreId,
    p: &DataStorePage,
    bytes_max: usize,
) -> StoreResult<Vec<DataStoreEntry>> {
    let after = p.after.as_deref().unwrap_or("").as_bytes();
    let sql = format!(
        "SELECT key, value, expires_at FROM (
           SELECT key, value, expires_at, sum(octet_length(value)) OVER (ORDER BY key) AS upto, row_number() OVER (ORDER BY key) AS n
           FROM (SELECT key, value, expires_at {PAGE}) AS page) AS summed
         WHERE upto <= $6 OR n = 1 ORDER BY key"
    );
    let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    many(
        c,
        &sql,
        &[&id.as_str(), &after, &p.now.ms(), &i64::from(p.limit), &p.prefix.as_bytes(), &bytes_max],
        rows::data_store_entry,
    )
    .await
}

/// One store at a time, so that the locks are taken in one order by all.
pub(crate) async fn purge(t: &Transaction<'_>, now: Timestamp, limit: u32) -> StoreResult<u64> {
    let sql = "SELECT DISTINCT store_id FROM (SELECT store_id FROM data_store_entries WHERE expires_at <= $1 LIMIT $2) AS ended ORDER BY store_id";
    let stores: Vec<String> =
        many(t, sql, &[&now.ms(), &i64::from(limit)], |row| row.try_get(0).map_err(database))
            .await?;
    let mut left = i64::from(limit);
    for store in &stores {
        lock(t, store).await?;
        let gone: Vec<i64> = many(
            t,
            "DELETE FROM data_store_entries WHERE ctid = ANY (ARRAY (SELECT ctid FROM data_store_entries WHERE store_id = $1 AND expires_at <= $2 LIMIT $3)) RETURNING bytes",
            &[store, &now.ms(), &left],
            |row| row.try_get(0).map_err(database),
        )
        .await?;
        let keys = i64::try_from(gone.len()).unwrap_or(i64::MAX);
        count(t, store, -keys, -gone.iter().sum::<i64>()).await?;
        left -= keys;
    }
    Ok(u64::try_from(i64::from(limit) - left).unwrap_or(0))
}

/// The store of that name.
pub(crate) async fn by_name(
    c: &impl GenericClient,
    org: &OrgId,
    name: &str,
) -> StoreResult<Option<DataStore>> {
    let sql =
        format!("SELECT {} FROM data_stores WHERE org_id = $1 AND name = $2", rows::DATA_STORE);
    one(c, &sql, &[&org.as_str(), &text(name)], rows::data_store).await
}
