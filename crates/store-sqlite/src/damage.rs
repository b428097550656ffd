//! Check that the files are a whole database before they are used: damage by a disk, a copy or a
//! hand is reported, and the files are not written to.
//!
//! SQLite reads a log only as far as its checksums are right. After a crash that is correct, since
//! the rest was never acknowledged. But commits behind a place that cannot be read were
//! acknowledged: the log was damaged, and reading on would lose them silently.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek as _, SeekFrom};
use std::path::Path;

use millrace_store::{StoreError, StoreResult};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::db::database;
use crate::in_use::{self, FRAME_HEADER, LOG_HEADER, log_path};
use crate::pages;

/// Files up to this size are read whole, in less than a second; of larger ones both ends of each
/// table.
const READ_WHOLE_BYTES_MAX: u64 = 256 << 20;
/// The byte of the file on which SQLite holds its locks; of the page that it is in nothing is
/// written.
const LOCKS_AT: u64 = 0x4000_0000;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Fails with [`StoreError::Damaged`]. A file that is missing or empty is a new database.
pub(crate) fn refuse(path: &Path) -> StoreResult<()> {
    let io = |e: std::io::Error| StoreError::Database(Box::new(e));
    let log = log_path(path);
    let log_bytes = std::fs::metadata(&log).map_or(0, |m| m.len());
    let bytes = match std::fs::metadata(path) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(io(error)),
    };
    if bytes == 0 {
        return if log_bytes == 0 {
            Ok(())
        } else {
            Err(damaged(format!("it is missing or empty, and its log `{}` is not", log.display())))
        };
    }
    let mut header = [0; 100];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err(damaged("it is shorter than the head of a database".into()));
        }
        other => other.map_err(io)?,
    }
    if header[..16] != *MAGIC {
        return Err(damaged("it does not begin as a database does".into()));
    }
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        size => size,
    };
    if let Some(what) = in_use::without_log(path) {
        return Err(damaged(what));
    }
    let log = if log_bytes > 0 {
        read_log(path).map_err(io)?.map_err(damaged)?
    } else {
        Committed::default()
    };
    let whole = log.size.unwrap_or_else(|| number(&header, 28));
    match log.missing(bytes, page, whole) {
        Some(_) if log_bytes == 0 => Err(damaged(format!(
            "it has {bytes} bytes, and had {}: it was cut off",
            page * u64::from(whole)
        ))),
        Some(missing) => Err(damaged(format!(
            "it has {bytes} bytes, and its page {missing} of {whole} is not in its log either: it was cut off"
        ))),
        None => Ok(()),
    }
}

/// As [`refuse`], of a database that is there. What another process has open is that one's to look
/// at: only that its log is there is asked.
pub(crate) fn refuse_left(path: &Path) -> StoreResult<()> {
    if in_use::by_another(path) {
        return in_use::without_log(path).map_or(Ok(()), |what| Err(damaged(what)));
    }
    if std::fs::metadata(path).map_err(|e| StoreError::Database(Box::new(e)))?.len() == 0 {
        return Err(damaged("it is empty".into()));
    }
    refuse(path)
}

/// Leaves a log as it is once the connection is closed: else the last one that closes merges it
/// into the file, whatever was found there.
pub(crate) fn leave_log(connection: &Connection, path: &Path) -> StoreResult<()> {
    // An empty one goes as it came.
    let has_log = std::fs::metadata(log_path(path)).is_ok_and(|log| log.len() > 0);
    no_merge(connection, has_log)
}

/// As SQLite does it.
pub(crate) fn merge_log(connection: &Connection) -> StoreResult<()> {
    no_merge(connection, false)
}

fn no_merge(connection: &Connection, no_merge: bool) -> StoreResult<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, no_merge)
        .map(drop)
        .map_err(database)
}

/// Whether a start reads the whole file.
fn is_read_whole(path: &Path) -> bool {
    std::fs::metadata(path).map_or(0, |m| m.len()) <= READ_WHOLE_BYTES_MAX
}

/// Reads through a database that was opened. Fails with [`StoreError::Damaged`].
pub(crate) fn read_through(connection: &Connection, path: &Path) -> StoreResult<()> {
    if is_read_whole(path) {
        return find(connection, path)?.map_or(Ok(()), |what| Err(damaged(what)));
    }
    for sql in ends(connection)? {
        connection.prepare(&sql).and_then(|mut s| s.exists([])).map_err(database)?;
    }
    Ok(())
}

/// The first thing that is found in a database, of which each page is read at any size: what a
/// start refuses is found.
pub(crate) fn find(connection: &Connection, path: &Path) -> StoreResult<Option<String>> {
    // Indexes beside their tables too, where that does not take long: a list reads the one, a
    // record the other.
    look(connection, if is_read_whole(path) { "integrity_check" } else { "quick_check" })
}

/// The first thing that one of SQLite's own checks finds. It reads each page that is in use.
pub(crate) fn look(connection: &Connection, check: &str) -> StoreResult<Option<String>> {
    let said: String = connection
        .query_row(&format!("PRAGMA {check}(1)"), [], |row| row.get(0))
        .map_err(database)?;
    // SQLite tells of a page that could not be read by a number alone.
    Ok((said != "ok").then(|| pages::broken().unwrap_or_else(|| said.replace('\n', " "))))
}

/// Statements that read the first and the last row of each table, in the order in which the table
/// itself is kept: any other would read all of it.
fn ends(connection: &Connection) -> StoreResult<Vec<String>> {
    let list = "SELECT t.name, (SELECT group_concat('\"' || c.name || '\" ' || ?1) FROM (SELECT * FROM pragma_table_info(t.name) ORDER BY pk) AS c WHERE t.wr AND c.pk > 0)
         FROM pragma_table_list AS t WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";
    let mut tables = connection.prepare(list).map_err(database)?;
    let mut statements = Vec::new();
    for order in ["ASC", "DESC"] {
        let named = tables
            .query_map([order], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
            })
            .map_err(database)?;
        for table in named {
            // Names are of the schema, which this program wrote.
            let (name, key) = table.map_err(database)?;
            let key = key.unwrap_or_else(|| format!("rowid {order}"));
            statements.push(format!("SELECT 1 FROM \"{name}\" NOT INDEXED ORDER BY {key} LIMIT 1"));
        }
    }
    Ok(statements)
}

fn damaged(what: String) -> StoreError {
    StoreError::Damaged { what }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// What the commits of a log hold, which the file may lack until they are merged into it.
#[derive(Default)]
struct Committed {
    /// How many pages the database has since the last of them; none where there is none.
    size: Option<u32>,
    pages: HashSet<u32>,
}

impl Committed {
    /// The first page of a database of `whole` pages that is neither in a file of so many `bytes`,
    /// with pages of `page` bytes, nor here.
    fn missing(&self, bytes: u64, page: u64, whole: u32) -> Option<u32> {
        let in_file = u32::try_from(bytes / page.max(1)).unwrap_or(u32::MAX);
        let of_locks = LOCKS_AT / page.max(1) + 1;
        (in_file..whole)
            .map(|before| before + 1)
            .find(|number| u64::from(*number) != of_locks && !self.pages.contains(number))
    }
}

/// What a database's log holds, or what is wrong with it: a place that cannot be read, with commits
/// behind it that were acknowledged.
fn read_log(database: &Path) -> std::io::Result<Result<Committed, String>> {
    let mut file = File::open(log_path(database))?;
    let mut header = [0; LOG_HEADER];
    let bytes = file.metadata()?.len();
    if bytes < LOG_HEADER as u64 {
        return Ok(Ok(Committed::default()));
    }
    file.read_exact(&mut header)?;
    let (magic, page) = (number(&header, 0), number(&header, 8) as usize);
    let big_endian = magic & 1 == 1;
    let mut sum = checksum(big_endian, (0, 0), &header[..24]);
    let good = magic & !1 == 0x377f_0682
        && sum == (number(&header, 24), number(&header, 28))
        && page.is_power_of_two()
        && (512..=65_536).contains(&page);
    if !good {
        // Zeros are a log that was made and never written to disk.
        file.seek(SeekFrom::Start(0))?;
        let mut rest = Vec::new();
        file.take(1 << 20).read_to_end(&mut rest)?;
        let is_empty = rest.iter().all(|byte| *byte == 0);
        return Ok(if is_empty {
            Ok(Committed::default())
        } else {
            Err("its write-ahead log does not begin as one does".into())
        });
    }
    let mut salts = [0; 8];
    salts.copy_from_slice(&header[16..24]);
    let had = match in_use::frames_of(database, salts) {
        Ok(frames) => frames,
        Err(what) => return Ok(Err(what)),
    };
    let needed = LOG_HEADER as u64 + u64::from(had) * (FRAME_HEADER + page) as u64;
    if bytes < needed {
        return Ok(Err(format!(
            "its write-ahead log has {bytes} bytes, and had {needed}: it was cut off, and commits that were acknowledged are missing"
        )));
    }
    let (mut frame, mut frames, mut broken, mut commits, mut most) =
        (vec![0; FRAME_HEADER + page], 0, None, 0, 0);
    let (mut committed, mut written) = (Committed::default(), Vec::new());
    while read_frame(&mut file, &mut frame)? {
        frames += 1;
        let said = (number(&frame, 16), number(&frame, 20));
        let follows = frame[8..16] == salts
            && said
                == checksum(
                    big_endian,
                    checksum(big_endian, sum, &frame[..8]),
                    &frame[FRAME_HEADER..],
                );
        // Each frame's sum goes on from the one before it, as that one says it.
        sum = said;
        // A frame that ends a commit says how large the database is then.
        let size = Some(number(&frame, 4)).filter(|size| *size != 0);
        if !follows {
            broken = broken.or(Some(frames));
            commits = 0;
        } else if broken.is_none() {
            written.push(number(&frame, 0));
            if size.is_some() {
                committed.size = size;
                committed.pages.extend(written.drain(..));
            }
        } else if size.is_some() {
            commits += 1;
            most = most.max(commits);
        }
    }
    Ok(match broken {
        Some(at) if at <= had => Err(format!(
            "its write-ahead log cannot be read at frame {at}, and {had} were written and acknowledged"
        )),
        // One alone may be that which a power cut or a full disk broke off. Two that follow each
        // other were acknowledged, the first of them at least.
        Some(at) if most > 1 => Err(format!(
            "its write-ahead log cannot be read at frame {at}, and {most} commits follow"
        )),
        _ => Ok(committed),
    })
}

fn read_frame(file: &mut File, frame: &mut [u8]) -> std::io::Result<bool> {
    match file.read_exact(frame) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}

/// The log's running checksum, as SQLite's file format has it.
fn checksum(big_endian: bool, (mut a, mut b): (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| {
            let four = [pair[at], pair[at + 1], pair[at + 2], pair[at + 3]];
            if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        a = a.wrapping_add(word(0)).wrapping_add(b);
        b = b.wrapping_add(word(4)).wrapping_add(a);
    }
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_missing_that_neither_the_file_nor_the_log_has() {
        let log = Committed { size: Some(9), pages: HashSet::from([1, 7, 9]) };
        let missing = |file_pages: u64, whole| log.missing(file_pages * 4096, 4096, whole);
        assert_eq!(
            (missing(9, 9), missing(8, 9), missing(7, 9), missing(6, 9)),
            (None, None, Some(8), Some(8))
        );
        assert_eq!((missing(6, 7), missing(5, 7), missing(12, 9)), (None, Some(6), None));
        assert_eq!(log.missing(8 * 4096 - 1, 4096, 9), Some(8), "half a page is none");
        // Behind a GiB there is one that SQLite never writes.
        let large = Committed { size: Some(262_147), pages: HashSet::from([262_146, 262_147]) };
        assert_eq!(
            (large.missing(1 << 30, 4096, 262_147), large.missing((1 << 30) - 4096, 4096, 262_147)),
            (None, Some(262_144))
        );
    }

    #[test]
    fn a_large_database_is_looked_at_without_reading_all_of_it() {
        let connection = Connection::open_in_memory().unwrap();
        crate::migrations::run(&connection).unwrap();
        let statements = ends(&connection).unwrap();
        assert!(
            statements.iter().any(|sql| sql.contains("\"runs\"")) && statements.len() > 40,
            "{statements:?}"
        );
        for sql in statements {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan: Vec<String> =
                plan.query_map([], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
            assert!(plan.iter().all(|step| !step.contains("TEMP B-TREE")), "{sql}: {plan:?}");
        }
    }
}
