//! Checksums of the pages of a database. SQLite writes none: bytes that a disk changed within a
//! value are read as if they were right. Its file format reserves space at the end of each page for
//! extensions, and the checksum is stored there. It covers the page's number, so that a page that
//! was written to another's place is found too.
//!
//! It is made as a page goes into the file and checked whenever one is read from there. Pages in
//! the write-ahead log have checksums of SQLite's own, and are checked by [`log`] after that.

mod log;
mod no_room;
mod vfs;

use std::cell::Cell;
use std::path::Path;

use millrace_store::{StoreError, StoreResult};
use rusqlite::{Connection, OpenFlags};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::db::database;

/// What a checksum takes at the end of each page.
const SUM: usize = 8;
/// The head of a database, at the beginning of its first page.
const HEAD: usize = 100;

thread_local! {
    static BROKEN: Cell<Option<Broken>> = const { Cell::new(None) };
}

/// What is not as it was written, by its number.
enum Broken {
    Page(u64),
    /// Behind the end of the file.
    Missing(u64),
    /// Of the write-ahead log.
    Frame(u64),
}

/// Opens a database. One that is made has checksums, as has a copy of any. What is written to a log
/// waits for its sync: `synchronous` has to stay FULL, as SQLite has it.
pub(crate) fn open(path: &Path, flags: OpenFlags) -> StoreResult<Connection> {
    let name = vfs::name()
        .ok_or_else(|| StoreError::Database("SQLite did not take the checksums of pages".into()))?;
    let connection = Connection::open_with_flags_and_vfs(path, flags, name).map_err(database)?;
    vfs::reserve(&connection);
    Ok(connection)
}

/// What the last read of this thread found that is not as it was written, once.
pub(crate) fn broken() -> Option<String> {
    BROKEN.take().map(|broken| match broken {
        Broken::Page(number) => {
            format!("page {number} is not as it was written: its checksum differs")
        }
        Broken::Missing(number) => format!("page {number} is missing: the file was cut off"),
        Broken::Frame(number) => {
            format!("frame {number} of the write-ahead log is not as it was written")
        }
    })
}

/// Whether the pages of a database have checksums: those have that were made by [`open`].
pub(crate) fn has_checksums(path: &Path) -> bool {
    let mut head = [0; HEAD];
    std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head))
        .is_ok()
        && Pages::of(&head) != Pages::Plain
}

/// How the pages of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    /// There are none yet: they will have checksums.
    Unwritten,
    Checked {
        bytes: usize,
    },
    Plain,
}

impl Pages {
    /// As the head of the file says.
    fn of(head: &[u8]) -> Self {
        match head {
            head if head.len() < HEAD || usize::from(head[20]) != SUM => Self::Plain,
            head => match usize::from(u16::from_be_bytes([head[16], head[17]])) {
                1 => Self::Checked { bytes: 65_536 },
                bytes if bytes.is_power_of_two() && bytes >= 512 => Self::Checked { bytes },
                _ => Self::Plain,
            },
        }
    }

    /// The number of the page that is at a place of the file, where a whole one is.
    fn number(self, at: u64, bytes: usize) -> Option<u64> {
        let is_page = match self {
            Self::Checked { bytes: page } => bytes == page,
            Self::Unwritten => bytes.is_power_of_two() && (512..=65_536).contains(&bytes),
            Self::Plain => false,
        };
        (is_page && at.is_multiple_of(bytes as u64)).then(|| at / bytes as u64 + 1)
    }

    /// The number of the page that is read from a place where the file has ended. SQLite reads no
    /// page that is not in use, and what is in use is in the log or in the file; but it reads the
    /// first one before it knows how large pages are.
    fn missing(self, at: u64, bytes: usize) -> Option<u64> {
        match self {
            Self::Checked { .. } => self.number(at, bytes),
            Self::Unwritten | Self::Plain => {
                Self::Unwritten.number(at, bytes).filter(|number| *number > 1)
            }
        }
    }
}

fn sum(page: &[u8], number: u64) -> [u8; SUM] {
    xxh3_64_with_seed(&page[..page.len() - SUM], number).to_le_bytes()
}

/// Whether a page is as it was written; where it is not, [`broken`] tells.
fn is_whole(page: &[u8], number: u64) -> bool {
    let is_whole = page[page.len() - SUM..] == sum(page, number);
    if !is_whole {
        BROKEN.set(Some(Broken::Page(number)));
    }
    is_whole
}

/// A page as it is to be written.
fn seal(page: &[u8], number: u64, into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(&page[..page.len() - SUM]);
    into.extend_from_slice(&sum(page, number));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_behind_the_end_of_a_file_is_missing_once_the_size_of_pages_is_known() {
        let checked = Pages::Checked { bytes: 4096 };
        assert_eq!((checked.missing(0, 4096), checked.missing(8192, 4096)), (Some(1), Some(3)));
        // Parts of a page, as of the head.
        assert_eq!(
            (checked.missing(0, 100), checked.missing(24, 16), checked.missing(4096, 1024)),
            (None, None, None)
        );
        for unknown in [Pages::Unwritten, Pages::Plain] {
            assert_eq!(
                (unknown.missing(0, 4096), unknown.missing(0, 100), unknown.missing(8192, 4096)),
                (None, None, Some(3))
            );
        }
    }
}
