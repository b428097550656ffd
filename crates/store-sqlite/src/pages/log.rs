//! Checksums of pages in the write-ahead log. SQLite checks a log when it begins to use one, and
//! trusts its pages from then on: bytes that a disk changed there would go into the database as if
//! they were right, with a checksum of ours.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use xxhash_rust::xxh3::xxh3_64;

use crate::in_use::{FRAME_HEADER, LOG_HEADER};

/// Logs in use, by their paths: each connection opens its log itself.
static LOGS: Mutex<Option<HashMap<Vec<u8>, Weak<Written>>>> = Mutex::new(None);

/// The pages that were written to a log, by where they stand. Of one that another program wrote
/// nothing is known.
#[derive(Default)]
pub(super) struct Written(RwLock<HashMap<u64, u64>>);

impl Written {
    /// That of the log at a path, whichever connection asks.
    pub(super) fn to(path: &[u8]) -> Arc<Self> {
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
    pub(super) fn write(&self, at: u64, bytes: &[u8]) {
        match bytes.len() {
            LOG_HEADER | FRAME_HEADER => {}
            _ if is_page(bytes) => drop(self.0.write().insert(at, xxh3_64(bytes))),
            // A page in parts: SQLite writes none so on the disks of today.
            _ => self.0.write().clear(),
        }
    }

    /// The number of the frame whose page is not as it was written.
    pub(super) fn broken(&self, at: u64, bytes: &[u8]) -> Option<u64> {
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
