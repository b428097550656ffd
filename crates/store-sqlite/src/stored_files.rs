//! Files of stores.

use millrace_model::clock::Timestamp;
use millrace_model::file::{
    FILE_BYTES_MAX, FileStore, ORG_BYTES_MAX, ORG_FILES_MAX, STORE_BYTES_MAX, STORE_FILES_MAX,
    StoredFile, folders_of, range_below,
};
use millrace_model::ids::OrgId;
use millrace_model::upload::FOREVER;
use millrace_store::{KeepFiles, StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{self, execute, many, number};

pub(crate) fn keep(c: &Connection, k: &KeepFiles) -> StoreResult<()> {
    let org = k.org_id.as_str();
    for (id, path) in &k.files {
        let mine = "SELECT EXISTS (SELECT 1 FROM uploads WHERE id = ?1 AND org_id = ?2 AND expires_at < ?3)";
        if number(c, mine, params![id.as_str(), org, FOREVER.ms()])? == 0 {
            return Err(StoreError::NotFound);
        }
        remove(c, org, &k.store, Some(path), k.replaced_until)?;
        let size = number(
            c,
            "SELECT coalesce(sum(length(bytes)), 0) FROM upload_parts WHERE upload_id = ?1",
            [id.as_str()],
        )?;
        if size > FILE_BYTES_MAX {
            return Err(StoreError::Full);
        }
        execute(
            c,
            "UPDATE uploads SET size = ?2, expires_at = ?3 WHERE id = ?1",
            params![id.as_str(), size, FOREVER.ms()],
        )?;
        let sql = "INSERT INTO stored_files (org_id, store, path, upload_id, size, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        execute(c, sql, params![org, k.store, path, id.as_str(), size, k.now.ms()])?;
        check_folders(c, org, &k.store, path)?;
    }
    let over = "SELECT count(*) > ?3 OR coalesce(sum(size), 0) > ?4 OR sum(store = ?2) > ?5 OR coalesce(sum(size) FILTER (WHERE store = ?2), 0) > ?6
         FROM stored_files WHERE org_id = ?1";
    if number(
        c,
        over,
        params![org, k.store, ORG_FILES_MAX, ORG_BYTES_MAX, STORE_FILES_MAX, STORE_BYTES_MAX],
    )? != 0
    {
        return Err(StoreError::Full);
    }
    Ok(())
}

/// Refuses a path below a file, and a file where there is a folder: neither could be laid into one.
fn check_folders(c: &Connection, org: &str, store: &str, path: &str) -> StoreResult<()> {
    let of_store = "SELECT EXISTS (SELECT 1 FROM stored_files WHERE org_id = ?1 AND store = ?2";
    let (from, to) = range_below(path);
    let below = format!("{of_store} AND path >= ?3 AND path < ?4)");
    if number(c, &below, params![org, store, from, to])? != 0 {
        return Err(StoreError::FileIsFolder(path.to_owned()));
    }
    for folder in folders_of(path) {
        if number(c, &format!("{of_store} AND path = ?3)"), params![org, store, folder])? != 0 {
            return Err(StoreError::FileIsFolder(folder.to_owned()));
        }
    }
    Ok(())
}

pub(crate) fn list(
    c: &Connection,
    org: &OrgId,
    store: &str,
    after: &str,
    limit: u32,
) -> StoreResult<Vec<StoredFile>> {
    let sql = "SELECT * FROM stored_files WHERE org_id = ?1 AND store = ?2 AND path > ?3 ORDER BY path LIMIT ?4";
    many(c, sql, params![org.as_str(), store, after, limit], rows::stored_file)
}

pub(crate) fn stores(c: &Connection, org: &OrgId) -> StoreResult<Vec<FileStore>> {
    let sql = "SELECT store, count(*), sum(size) FROM stored_files WHERE org_id = ?1 GROUP BY store ORDER BY store";
    many(c, sql, [org.as_str()], |row| {
        Ok(FileStore {
            name: row.get(0).map_err(database)?,
            files: row.get(1).map_err(database)?,
            bytes: row.get(2).map_err(database)?,
        })
    })
}

pub(crate) fn remove(
    c: &Connection,
    org: &str,
    store: &str,
    path: Option<&str>,
    until: Timestamp,
) -> StoreResult<u64> {
    let those = "org_id = ?1 AND store = ?2 AND (?3 IS NULL OR path = ?3)";
    let sql = format!(
        "UPDATE uploads SET expires_at = ?4 WHERE id IN (SELECT upload_id FROM stored_files WHERE {those})"
    );
    execute(c, &sql, params![org, store, path, until.ms()])?;
    let gone =
        execute(c, &format!("DELETE FROM stored_files WHERE {those}"), params![org, store, path])?;
    Ok(u64::try_from(gone).unwrap_or(u64::MAX))
}
