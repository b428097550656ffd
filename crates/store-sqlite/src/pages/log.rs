//! Checksums of pages in the write-ahead log. SQLite checks a log when it begins to use one, and
//! trusts its pages from then on: bytes that a disk changed there would go into the database as if
//! they were right, with a checksum of ours.
//!
//! And its writes are gathered: SQLite writes the head of each frame and its page apart.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use rusqlite::ffi;
use xxhash_rust::xxh3::xxh3_64;

use super::no_room::full_or;
use crate::in_use::{FRAME_HEADER, LOG_HEADER};

/// Bytes of a log that are written at once at most. SQLite's usual way to write takes the length
/// modulo 128 KiB.
const PENDING_MAX: usize = 120 * 1024;

/// Logs in use, by their paths: each connection opens its log itself.
static LOGS: Mutex<Option<HashMap<Vec<u8>, Weak<Written>>>> = Mutex::new(None);

/// Of a file that is a log.
pub(super) struct Log {
    /// What was written to it, by all connections.
    written: Arc<Written>,
    /// What this connection is about to write, one piece in place of the head and the page of each
    /// frame. SQLite tells nobody of a frame before it has synced the log.
    pending: Pending,
}

impl Log {
    pub(super) fn at(path: &[u8]) -> Self {
        Self { written: Written::to(path), pending: Pending::default() }
    }

    /// Takes bytes that SQLite writes.
    ///
    /// # Safety
    /// The file is open, and the methods are its own.
    #[expect(unsafe_code, reason = "SQLite's interface")]
    pub(super) unsafe fn write(
        &mut self,
        file: *mut ffi::sqlite3_file,
        usual: &ffi::sqlite3_io_methods,
        at: i64,
        bytes: &[u8],
    ) -> c_int {
        if !self.pending.takes(at, bytes.len()) {
            // SAFETY: as above.
            let code = unsafe { self.write_pending(file, usual) };
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        self.written.write(at.cast_unsigned(), bytes);
        self.pending.add(at, bytes);
        ffi::SQLITE_OK
    }

    /// Writes what is pending.
    ///
    /// # Safety
    /// The file is open, and the methods are its own.
    #[expect(unsafe_code, reason = "SQLite's interface")]
    pub(super) unsafe fn write_pending(
        &mut self,
        file: *mut ffi::sqlite3_file,
        usual: &ffi::sqlite3_io_methods,
    ) -> c_int {
        // SAFETY: as above.
        unsafe { self.pending.write(file, usual) }
    }

    /// The number of the frame whose page is not as it was written.
    pub(super) fn broken(&self, at: u64, bytes: &[u8]) -> Option<u64> {
        self.written.broken(at, bytes)
    }
}

/// Bytes of a file that stand one behind the other.
#[derive(Default)]
struct Pending {
    at: i64,
    bytes: Vec<u8>,
}

impl Pending {
    /// Whether `amount` bytes at a place of the file go on where these end.
    fn takes(&self, at: i64, amount: usize) -> bool {
        let end = self.at + i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        self.bytes.is_empty() || (at == end && self.bytes.len() + amount <= PENDING_MAX)
    }

    fn add(&mut self, at: i64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.at = at;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes them. Those that cannot be written are forgotten: SQLite gives up their transaction.
    ///
    /// # Safety
    /// The file is open, and the methods are its own.
    #[expect(unsafe_code, reason = "SQLite's interface")]
    unsafe fn write(
        &mut self,
        file: *mut ffi::sqlite3_file,
        usual: &ffi::sqlite3_io_methods,
    ) -> c_int {
        if self.bytes.is_empty() {
            return ffi::SQLITE_OK;
        }
        // SAFETY: the bytes live as long as the call.
        let code = unsafe {
            match (usual.xWrite, c_int::try_from(self.bytes.len())) {
                (Some(write), Ok(amount)) => {
                    full_or(write(file, self.bytes.as_ptr().cast(), amount, self.at), file, usual)
                }
                _ => ffi::SQLITE_IOERR_WRITE,
            }
        };
        self.bytes.clear();
        code
    }
}

/// The pages that were written to a log, by where they stand. Of one that another program wrote
/// nothing is known.
#[derive(Default)]
struct Written(RwLock<HashMap<u64, u64>>);

impl Written {
    /// That of the log at a path, whichever connection asks.
    fn to(path: &[u8]) -> Arc<Self> {
        let mut logs = LOGS.lock();
        let logs = logs.get_or_insert_default();
        if let Some(written) = logs.get(path).and_then(Weak::upgrade) {
            return written;
        }
        logs.retain(|_, written| written.strong_count() > 0);
        let written = Arc::<Self>::default();
        logs.insert(path.to_owned(), Arc::downgrade(&written));
        written
    }

    /// Bytes are about to be written.
    fn write(&self, at: u64, bytes: &[u8]) {
        match bytes.len() {
            LOG_HEADER | FRAME_HEADER => {}
            _ if is_page(bytes) => drop(self.0.write().insert(at, xxh3_64(bytes))),
            // A page in parts: SQLite writes none so on the disks of today.
            _ => self.0.write().clear(),
        }
    }

    fn broken(&self, at: u64, bytes: &[u8]) -> Option<u64> {
        let written = if is_page(bytes) { self.0.read().get(&at).copied() } else { None };
        let frame = (bytes.len() + FRAME_HEADER) as u64;
        written
            .is_some_and(|sum| sum != xxh3_64(bytes))
            .then(|| at.saturating_sub(LOG_HEADER as u64) / frame + 1)
    }
}

fn is_page(bytes: &[u8]) -> bool {
    bytes.len() >= 512 && bytes.len().is_power_of_two()
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, OpenFlags};

    use super::*;
    use crate::pages;

    #[test]
    fn bytes_that_go_on_where_others_end_are_written_with_them() {
        let mut pending = Pending::default();
        assert!(pending.takes(4096, 10 * PENDING_MAX), "nothing is before them");
        pending.add(32, &[0; 24]);
        pending.add(56, &[0; 4096]);
        assert_eq!((pending.at, pending.bytes.len()), (32, 4120));
        assert!(pending.takes(4152, 24));
        assert!(!pending.takes(4151, 24) && !pending.takes(0, 32), "somewhere else");
        assert!(
            !pending.takes(4152, PENDING_MAX - 4119) && pending.takes(4152, PENDING_MAX - 4120)
        );
    }

    /// With so few pages in memory SQLite writes some before the transaction ends, and reads them
    /// again.
    #[test]
    fn a_transaction_of_more_than_memory_holds_is_read_within_it_and_by_others_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || -> Connection {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            let connection = pages::open(&folder.path().join("a.db"), flags).expect("opens");
            connection
                .execute_batch("PRAGMA journal_mode = WAL; PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0")
                .expect("sets");
            connection
        };
        let (writer, reader) = (open(), open());
        let total = |connection: &Connection| -> i64 {
            let sum = "SELECT coalesce(sum(n * length(text)), 0) FROM t";
            connection.query_row(sum, [], |row| row.get(0)).expect("reads")
        };
        writer.execute_batch("CREATE TABLE t (n, text)").expect("a table");
        let fill = "INSERT INTO t WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500)
            SELECT n, hex(randomblob(3000)) FROM c";
        writer.execute_batch("BEGIN").and_then(|()| writer.execute_batch(fill)).expect("writes");
        let whole = 6000 * 500 * 501 / 2;
        assert_eq!((total(&writer), total(&reader)), (whole, 0));
        writer.execute_batch("ROLLBACK").expect("rolls back");
        assert_eq!((total(&writer), total(&reader)), (0, 0));
        writer.execute_batch(fill).expect("writes");
        assert_eq!((total(&writer), total(&reader)), (whole, whole));
        drop((writer, reader));
        assert_eq!(total(&open()), whole);
    }
}
