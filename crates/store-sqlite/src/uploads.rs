//! Files that requests to endpoints carried.

use millrace_model::clock::Timestamp;
use millrace_model::ids::UploadId;
use millrace_model::upload::{FOREVER, Upload};
use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::{execute, number};

pub(crate) fn create(c: &Connection, u: &Upload) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO uploads (id, org_id, file_name, media_type, size, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            u.id.as_str(),
            u.org_id.as_str(),
            u.file_name,
            u.media_type,
            u.size,
            u.expires_at.ms()
        ],
    )?;
    Ok(())
}

pub(crate) fn add_part(
    c: &Connection,
    id: &UploadId,
    position: i64,
    bytes: &[u8],
) -> StoreResult<()> {
    if number(c, "SELECT EXISTS (SELECT 1 FROM uploads WHERE id = ?1)", [id.as_str()])? == 0 {
        return Err(StoreError::NotFound);
    }
    execute(
        c,
        "INSERT INTO upload_parts (upload_id, position, bytes) VALUES (?1, ?2, ?3)",
        params![id.as_str(), position, bytes],
    )?;
    Ok(())
}

pub(crate) fn finish(c: &Connection, id: &UploadId, size: i64) -> StoreResult<()> {
    match execute(c, "UPDATE uploads SET size = ?2 WHERE id = ?1", params![id.as_str(), size])? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

pub(crate) fn expire(c: &Connection, ids: &[UploadId], at: Timestamp) -> StoreResult<()> {
    for id in ids {
        execute(
            c,
            "UPDATE uploads SET expires_at = ?2 WHERE id = ?1 AND expires_at < ?3",
            params![id.as_str(), at.ms(), FOREVER.ms()],
        )?;
    }
    Ok(())
}

/// Part by part: a file may be larger than what the one writer should be held for.
pub(crate) fn purge(c: &Connection, now: Timestamp, limit: u32) -> StoreResult<u64> {
    let parts = "DELETE FROM upload_parts WHERE rowid IN
                   (SELECT p.rowid FROM uploads AS u CROSS JOIN upload_parts AS p ON p.upload_id = u.id WHERE u.expires_at <= ?1 ORDER BY u.expires_at LIMIT ?2)";
    let files = "DELETE FROM uploads WHERE id IN
                   (SELECT id FROM uploads WHERE expires_at <= ?1 AND NOT EXISTS (SELECT 1 FROM upload_parts WHERE upload_id = id) ORDER BY expires_at LIMIT ?2)";
    let gone =
        execute(c, parts, params![now.ms(), limit])? + execute(c, files, params![now.ms(), limit])?;
    Ok(u64::try_from(gone).unwrap_or(u64::MAX))
}
