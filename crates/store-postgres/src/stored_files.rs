//! Files of stores.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::file::{
    FILE_BYTES_MAX, FileStore, ORG_BYTES_MAX, ORG_FILES_MAX, STORE_BYTES_MAX, STORE_FILES_MAX,
    StoredFile, folders_of, range_below,
};
use millrace_model::ids::OrgId;
use millrace_model::upload::FOREVER;
use millrace_store::{KeepFiles, StoreError, StoreResult};

use crate::db::{database, text};
use crate::rows::{self, execute, many, number, one};

pub(crate) async fn keep(t: &Transaction<'_>, k: &KeepFiles) -> StoreResult<()> {
    let org = k.org_id.as_str();
    // Writers of one organization wait for each other, so that what is counted below holds.
    one(t, "SELECT 1 FROM organizations WHERE id = $1 FOR UPDATE", &[&org], |_| Ok(())).await?;
    for (id, path) in &k.files {
        let mine =
            "SELECT 1 FROM uploads WHERE id = $1 AND org_id = $2 AND expires_at < $3 FOR UPDATE";
        if one(t, mine, &[&id.as_str(), &org, &FOREVER.ms()], |_| Ok(())).await?.is_none() {
            return Err(StoreError::NotFound);
        }
        remove(t, org, &k.store, Some(path), k.replaced_until).await?;
        let size = number(t, "SELECT coalesce(sum(octet_length(bytes)), 0)::bigint FROM upload_parts WHERE upload_id = $1", &[&id.as_str()]).await?;
        if size > FILE_BYTES_MAX {
            return Err(StoreError::Full);
        }
        execute(
            t,
            "UPDATE uploads SET size = $2, expires_at = $3 WHERE id = $1",
            &[&id.as_str(), &size, &FOREVER.ms()],
        )
        .await?;
        let sql = "INSERT INTO stored_files (org_id, store, path, upload_id, size, updated_at) VALUES ($1, $2, $3, $4, $5, $6)";
        execute(t, sql, &[&org, &k.store, &text(path), &id.as_str(), &size, &k.now.ms()]).await?;
        check_folders(t, org, &k.store, path).await?;
    }
    let over = "SELECT (count(*) > $3 OR coalesce(sum(size), 0)::bigint > $4 OR count(*) FILTER (WHERE store = $2) > $5
           OR coalesce(sum(size) FILTER (WHERE store = $2), 0)::bigint > $6)::int::bigint
         FROM stored_files WHERE org_id = $1";
    if number(
        t,
        over,
        &[&org, &k.store, &ORG_FILES_MAX, &ORG_BYTES_MAX, &STORE_FILES_MAX, &STORE_BYTES_MAX],
    )
    .await?
        != 0
    {
        return Err(StoreError::Full);
    }
    Ok(())
}

/// Refuses a path below a file, and a file where there is a folder: neither could be laid into one.
async fn check_folders(t: &Transaction<'_>, org: &str, store: &str, path: &str) -> StoreResult<()> {
    let of_store =
        "SELECT count(*) FROM (SELECT 1 FROM stored_files WHERE org_id = $1 AND store = $2";
    let (from, to) = range_below(path);
    let below = format!("{of_store} AND path >= $3 AND path < $4 LIMIT 1) AS found");
    if number(t, &below, &[&org, &store, &text(&from), &text(&to)]).await? != 0 {
        return Err(StoreError::FileIsFolder(path.to_owned()));
    }
    let same = format!("{of_store} AND path = $3 LIMIT 1) AS found");
    for folder in folders_of(path) {
        if number(t, &same, &[&org, &store, &text(folder)]).await? != 0 {
            return Err(StoreError::FileIsFolder(folder.to_owned()));
        }
    }
    Ok(())
}

pub(crate) async fn list(
    c: &Client,
    org: &OrgId,
    store: &str,
    after: &str,
    limit: u32,
) -> StoreResult<Vec<StoredFile>> {
    let sql = format!(
        "SELECT {} FROM stored_files WHERE org_id = $1 AND store = $2 AND path > $3 ORDER BY path LIMIT $4",
        rows::STORED_FILE
    );
    many(c, &sql, &[&org.as_str(), &store, &text(after), &i64::from(limit)], rows::stored_file)
        .await
}

pub(crate) async fn stores(c: &Client, org: &OrgId) -> StoreResult<Vec<FileStore>> {
    let sql = "SELECT store, count(*), sum(size)::bigint FROM stored_files WHERE org_id = $1 GROUP BY store ORDER BY store";
    many(c, sql, &[&org.as_str()], |row| {
        Ok(FileStore {
            name: row.try_get(0).map_err(database)?,
            files: row.try_get(1).map_err(database)?,
            bytes: row.try_get(2).map_err(database)?,
        })
    })
    .await
}

pub(crate) async fn remove(
    t: &Transaction<'_>,
    org: &str,
    store: &str,
    path: Option<&str>,
    until: Timestamp,
) -> StoreResult<u64> {
    let those = "org_id = $1 AND store = $2 AND ($3::text IS NULL OR path = $3)";
    let path = path.map(text);
    let sql = format!("DELETE FROM stored_files WHERE {those} RETURNING upload_id");
    let gone: Vec<String> =
        many(t, &sql, &[&org, &store, &path], |row| row.try_get(0).map_err(database)).await?;
    execute(t, "UPDATE uploads SET expires_at = $2 WHERE id = ANY ($1)", &[&gone, &until.ms()])
        .await?;
    Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
}
