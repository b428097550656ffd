//! Files that requests to endpoints carried.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::UploadId;
use millrace_model::upload::{FOREVER, Upload};
use millrace_store::{StoreError, StoreResult};

use crate::db::text;
use crate::rows::execute;

pub(crate) async fn create(c: &Client, u: &Upload) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO uploads (id, org_id, file_name, media_type, size, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
        &[&u.id.as_str(), &u.org_id.as_str(), &text(&u.file_name), &text(&u.media_type), &u.size, &u.expires_at.ms()],
    )
    .await?;
    Ok(())
}

pub(crate) async fn add_part(
    c: &Client,
    id: &UploadId,
    position: i64,
    bytes: &[u8],
) -> StoreResult<()> {
    let sql = "INSERT INTO upload_parts (upload_id, position, bytes) SELECT id, $2, $3 FROM uploads WHERE id = $1";
    match execute(c, sql, &[&id.as_str(), &position, &bytes]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

pub(crate) async fn finish(c: &Client, id: &UploadId, size: i64) -> StoreResult<()> {
    match execute(c, "UPDATE uploads SET size = $2 WHERE id = $1", &[&id.as_str(), &size]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

pub(crate) async fn expire(c: &Client, ids: &[UploadId], at: Timestamp) -> StoreResult<()> {
    let ids: Vec<&str> = ids.iter().map(UploadId::as_str).collect();
    let sql = "UPDATE uploads SET expires_at = $2 WHERE id = ANY ($1) AND expires_at < $3";
    execute(c, sql, &[&ids, &at.ms(), &FOREVER.ms()]).await?;
    Ok(())
}

/// The files are locked first: servers that clear away at once pass over each other's.
pub(crate) async fn purge(t: &Transaction<'_>, now: Timestamp, limit: u32) -> StoreResult<u64> {
    let sql = "SELECT id FROM uploads WHERE expires_at <= $1 ORDER BY expires_at, id LIMIT $2 FOR UPDATE SKIP LOCKED";
    let ids: Vec<String> = crate::rows::many(t, sql, &[&now.ms(), &i64::from(limit)], |row| {
        row.try_get(0).map_err(crate::db::database)
    })
    .await?;
    let parts = "DELETE FROM upload_parts WHERE (upload_id, position) IN (SELECT upload_id, position FROM upload_parts WHERE upload_id = ANY ($1) LIMIT $2)";
    let files = "DELETE FROM uploads WHERE id = ANY ($1) AND NOT EXISTS (SELECT 1 FROM upload_parts WHERE upload_id = uploads.id)";
    Ok(execute(t, parts, &[&ids, &i64::from(limit)]).await? + execute(t, files, &[&ids]).await?)
}
