//! Marker file beside a database in use, from its first commit to its end; it remains after a kill.
//! It records how far the log has grown, so that a start can tell a lost or truncated log from a
//! clean shutdown, which SQLite takes for one another.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::process::{Flock, FlockType, fcntl_getlk};
use xxhash_rust::xxh3::xxh3_64;

/// The head of a log, and of each of its frames.
pub(crate) const LOG_HEADER: usize = 32;
pub(crate) const FRAME_HEADER: usize = 24;
/// The head of SQLite's index of the log, which stands in it twice.
const INDEX_HEAD: usize = 48;
/// The byte of the log's index on which each process that has the database open holds a lock.
const OPEN_LOCK_AT: u64 = 128;
/// How often a log may have begun anew since its end was last written to the disk. It begins with a
/// number at random, and goes on by one.
const ANEW_MAX: u32 = 1 << 20;

/// A file that belongs to the database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

pub(crate) fn log_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn mark_path(path: &Path) -> PathBuf {
    beside(path, "-open")
}

/// That the database is in use, as long as this is there.
pub(crate) struct InUse {
    path: PathBuf,
    mark: Option<Mark>,
}

/// The file that says it: which start of the system this is, and how far the log has come.
struct Mark {
    file: File,
    /// SQLite's index of the log, which the writer has just changed.
    index: File,
    /// Where the log's end stands in the file.
    end_at: u64,
}

impl InUse {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), mark: None }
    }

    /// After a commit, with which its part of the log is on the disk: the mark never says more than
    /// that. Nobody waits until it is there itself, so that after a power cut it may say less.
    /// Where there is no room for it, or the commit wrote nothing and there is no log yet, it is
    /// made after a later one.
    pub(crate) fn mark(&mut self) {
        match &self.mark {
            None => self.mark = Mark::make(&self.path).ok(),
            Some(mark) => mark.go_on(),
        }
    }
}

impl InUse {
    /// How many bytes the log has at least, with pages of that size: for who keeps others from
    /// writing.
    pub(crate) fn log_bytes_min(&self, page_bytes: u64) -> u64 {
        match self.mark.as_ref().map(|mark| LogEnd::now(&mark.index)) {
            Some(Ok(end)) if end.frames > 0 => {
                LOG_HEADER as u64 + u64::from(end.frames) * (FRAME_HEADER as u64 + page_bytes)
            }
            _ => 0,
        }
    }

    /// Marks a log that stays, though the database is closed.
    pub(crate) fn leave(mut self) {
        self.mark();
        std::mem::forget(self);
    }
}

impl Drop for InUse {
    /// Whoever closes the database last merges its log, and removes that: no mark may be left then.
    fn drop(&mut self) {
        // Where it is left, and the log with it, the next start finds nothing amiss.
        let _ = std::fs::remove_file(mark_path(&self.path))
            .and_then(|()| folder_of(&self.path)?.sync_all());
    }
}

impl Mark {
    fn make(path: &Path) -> std::io::Result<Self> {
        let boot = format!("{}\n", boot().unwrap_or_default());
        let index = File::open(beside(path, "-shm"))?;
        if LogEnd::now(&index)?.is_before_any() {
            return Err(std::io::ErrorKind::NotFound.into());
        }
        let mark = Self { file: File::create(mark_path(path))?, index, end_at: boot.len() as u64 };
        mark.file.write_all_at(boot.as_bytes(), 0)?;
        mark.go_on();
        mark.file.sync_all()?;
        folder_of(path)?.sync_all()?;
        Ok(mark)
    }

    /// Where this fails, what stood there before is true still.
    fn go_on(&self) {
        let _ = LogEnd::now(&self.index)
            .and_then(|end| self.file.write_all_at(end.to_line().as_bytes(), self.end_at));
    }
}

/// How far a log has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LogEnd {
    /// What tells one log from another, as it stands in its head.
    salts: [u8; 8],
    frames: u32,
}

impl LogEnd {
    fn now(index: &File) -> std::io::Result<Self> {
        let mut head = [0; INDEX_HEAD];
        index.read_exact_at(&mut head, 0)?;
        Ok(Self::in_index(&head))
    }

    /// Whether nothing has been written to a log yet: it has no head then.
    fn is_before_any(self) -> bool {
        self == Self { salts: [0; 8], frames: 0 }
    }

    fn in_index(head: &[u8; INDEX_HEAD]) -> Self {
        let mut salts = [0; 8];
        salts.copy_from_slice(&head[32..40]);
        Self { salts, frames: u32::from_ne_bytes([head[16], head[17], head[18], head[19]]) }
    }

    /// Always as long, so that one takes the place of another.
    fn to_line(self) -> String {
        let said = format!("log {:016x} {:08x}", u64::from_be_bytes(self.salts), self.frames);
        format!("{said} {:016x}\n", xxh3_64(said.as_bytes()))
    }

    fn from_line(line: &str) -> Option<Self> {
        let (said, sum) = line.rsplit_once(' ')?;
        let (salts, frames) = said.strip_prefix("log ")?.split_once(' ')?;
        let end = Self {
            salts: u64::from_str_radix(salts, 16).ok()?.to_be_bytes(),
            frames: u32::from_str_radix(frames, 16).ok()?,
        };
        (u64::from_str_radix(sum, 16).ok()? == xxh3_64(said.as_bytes())).then_some(end)
    }

    /// How often a log with these salts began anew since this one.
    fn began_anew(self, salts: [u8; 8]) -> u32 {
        let count = |salts: [u8; 8]| u32::from_be_bytes([salts[0], salts[1], salts[2], salts[3]]);
        count(salts).wrapping_sub(count(self.salts))
    }
}

/// What is missing of the log, of which nothing may be read on: all of it, or its head.
pub(crate) fn without_log(path: &Path) -> Option<String> {
    let mark = mark_path(path);
    let mut head = [0; LOG_HEADER];
    let has_head = File::open(log_path(path)).and_then(|mut log| log.read_exact(&mut head)).is_ok()
        && head != [0; LOG_HEADER];
    let (marked, indexed) = left(path);
    // Servers of earlier versions made the mark before there was a log.
    let had_none =
        marked.is_some_and(LogEnd::is_before_any) && indexed.is_none_or(LogEnd::is_before_any);
    (mark.exists() && !has_head && !had_none).then(|| {
        format!(
            "it was in use when it was left, and its write-ahead log `{}` is missing or has no head: put it back as it was; to go on without what it held, delete `{}` \
             (where another program, such as `sqlite3`, has merged it into the database since, docs/operate/durability.md says what can be saved)",
            log_path(path).display(),
            mark.display()
        )
    })
}

/// Whether another process has the database open: its log may grow, and begin anew, while it is
/// read.
pub(crate) fn by_another(path: &Path) -> bool {
    let lock = Flock { start: OPEN_LOCK_AT, length: 1, ..Flock::from(FlockType::WriteLock) };
    File::options()
        .read(true)
        .write(true)
        .open(beside(path, "-shm"))
        .is_ok_and(|index| matches!(fcntl_getlk(&index, &lock), Ok(Some(_))))
}

/// How many frames a log with these salts had at least when it was left, or that it is another one
/// than was left.
pub(crate) fn frames_of(path: &Path, salts: [u8; 8]) -> Result<u32, String> {
    let (marked, indexed) = left(path);
    let mut frames = 0;
    for (end, anew_max) in [(marked, ANEW_MAX), (indexed, 0)] {
        match end {
            Some(end) if end.salts == salts => frames = frames.max(end.frames),
            Some(end) if end.frames > 0 && !(1..=anew_max).contains(&end.began_anew(salts)) => {
                return Err(format!(
                    "its write-ahead log is another one than the server left: put that back, or, if this is the one to go on with, delete `{}`",
                    mark_path(path).display()
                ));
            }
            _ => {}
        }
    }
    Ok(frames)
}

/// The end of the log as the mark has it, and as SQLite's index of it has. That is not written to
/// the disk for anybody to rely on, and holds only as long as the system runs that the server ran
/// on.
fn left(path: &Path) -> (Option<LogEnd>, Option<LogEnd>) {
    let Ok(mark) = std::fs::read_to_string(mark_path(path)) else { return (None, None) };
    let mut lines = mark.lines();
    let same_boot = lines.next().is_some_and(|left_by| boot().is_some_and(|boot| boot == left_by));
    let marked = lines.next().and_then(LogEnd::from_line);
    let index = std::fs::read(beside(path, "-shm")).ok().filter(|_| same_boot);
    let indexed = index.and_then(|index| {
        let (first, second) =
            (index.first_chunk::<INDEX_HEAD>()?, index.get(INDEX_HEAD..2 * INDEX_HEAD)?);
        let initialized = first[12] == 1;
        // A kill while it was written leaves two that differ.
        (first == second && initialized).then(|| LogEnd::in_index(first))
    });
    (marked, indexed)
}

/// Which start of the system this is.
fn boot() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .ok()
        .map(|id| id.trim_end().to_owned())
        .filter(|id| !id.is_empty())
}

fn folder_of(path: &Path) -> std::io::Result<File> {
    File::open(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_read_as_it_was_written() {
        let end = LogEnd { salts: [0xff, 0xff, 0xff, 0xff, 5, 6, 7, 8], frames: 4711 };
        let line = end.to_line();
        assert_eq!(LogEnd::from_line(line.trim_end()), Some(end));
        assert_eq!(LogEnd::from_line(line.trim_end().replace("1267", "1266").as_str()), None);
        assert_eq!(LogEnd::from_line("log"), None);
        // The count of logs goes round.
        assert_eq!(end.began_anew([0, 0, 0, 1, 9, 9, 9, 9]), 2);
        assert!(end.began_anew([0xff, 0xff, 0xff, 0xfe, 9, 9, 9, 9]) > ANEW_MAX);
    }
}
