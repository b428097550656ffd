//! Copies of the database.

use std::path::Path;

use millrace_store::{StoreError, StoreResult};
use rusqlite::OpenFlags;

use crate::db::database;
use crate::{damage, migrations, pages};

/// `VACUUM INTO` reads in one transaction, which in WAL mode no writer waits for. What was deleted
/// is not in the copy.
pub(crate) fn backup(from: &Path, to: &Path) -> StoreResult<()> {
    damage::refuse_left(from)?;
    let connection =
        pages::open(from, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.execute_batch("PRAGMA busy_timeout = 10000").map_err(database)?;
    damage::leave_log(&connection, from)?;
    // A copy of what is damaged looks whole, and would take the place of one that is.
    if let Some(what) = damage::find(&connection, from)? {
        return Err(StoreError::Damaged { what });
    }
    let path = to
        .to_str()
        .ok_or_else(|| StoreError::Database("the path of the copy is not UTF-8".into()))?;
    connection
        .execute("VACUUM INTO ?1", [path])
        .map_err(|error| read_only(from).unwrap_or_else(|| database(error)))?;
    // SQLite leaves it to the system when the copy is on its disk.
    std::fs::File::open(to)
        .and_then(|file| file.sync_all())
        .map_err(|e| StoreError::Database(Box::new(e)))
}

/// The error where a database is on a file system that is mounted read-only: SQLite writes beside
/// one that it reads, and names neither.
fn read_only(path: &Path) -> Option<StoreError> {
    let error = std::fs::OpenOptions::new().append(true).open(path).err()?;
    (error.kind() == std::io::ErrorKind::ReadOnlyFilesystem).then(|| {
        let message = format!(
            "`{}` is on a file system that is mounted read-only; mount it for writing, or copy its folder elsewhere and back up the copy",
            path.display()
        );
        StoreError::Database(message.into())
    })
}

pub(crate) fn master_keys(path: &Path) -> StoreResult<Vec<String>> {
    let connection =
        pages::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let mut found =
        connection.prepare("SELECT DISTINCT master_id FROM data_keys").map_err(database)?;
    let ids = found.query_map([], |row| row.get(0)).map_err(database)?;
    ids.collect::<Result<_, _>>().map_err(database)
}

pub(crate) fn check(path: &Path) -> StoreResult<()> {
    let connection =
        pages::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let found: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(database)?;
    if found == 0 {
        return Err(StoreError::Corrupt { what: "it is no database of Millrace".into() });
    }
    if found > migrations::known() {
        return Err(StoreError::NewerSchema { found, known: migrations::known() });
    }
    damage::look(&connection, "integrity_check")?
        .map_or(Ok(()), |what| Err(StoreError::Corrupt { what }))
}
