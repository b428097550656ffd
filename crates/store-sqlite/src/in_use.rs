//! That a database is in use, said by a file beside it, from its first commit to its end; after a kill it stays. To SQLite a database without its log is a
//! whole one, as it was before what the log held: with this, a log that is missing or was cut is known.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The head of a log, and of each of its frames.
pub(crate) const LOG_HEADER: usize = 32;
pub(crate) const FRAME_HEADER: usize = 24;
/// SQLite's index of the log: its head stands in it twice, and after both how much of the log is in the file already.
const INDEX_HEAD: usize = 48;
const INDEX_BYTES: usize = 2 * INDEX_HEAD + 4;

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
    is_marked: bool,
}

impl InUse {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), is_marked: false }
    }

    /// After a commit, with which the head of the log is on the disk: the mark is never there before it. Where there is no room for the mark, it is made
    /// after a later one.
    pub(crate) fn mark(&mut self) {
        self.is_marked = self.is_marked || mark(&self.path).is_ok();
    }
}

impl Drop for InUse {
    /// Whoever closes the database last merges its log, and removes that: no mark may be left then.
    fn drop(&mut self) {
        // Where it is left, and the log with it, the next start finds nothing amiss.
        let _ = std::fs::remove_file(mark_path(&self.path)).and_then(|()| folder_of(&self.path)?.sync_all());
    }
}

fn mark(path: &Path) -> std::io::Result<()> {
    let mut file = File::create(mark_path(path))?;
    file.write_all(boot().unwrap_or_default().as_bytes())?;
    file.sync_all()?;
    folder_of(path)?.sync_all()
}

/// What is missing of the log, of which nothing may be read on: all of it, or its head.
pub(crate) fn without_log(path: &Path) -> Option<String> {
    let mark = mark_path(path);
    let mut head = [0; LOG_HEADER];
    let has_head = File::open(log_path(path)).and_then(|mut log| log.read_exact(&mut head)).is_ok() && head != [0; LOG_HEADER];
    (mark.exists() && !has_head).then(|| {
        format!(
            "it was in use when it was left, and its write-ahead log `{}` is missing or has no head: put it back as it was; to go on without what it held, or where \
             another program (such as `sqlite3`) has merged it into the database since, delete `{}`",
            log_path(path).display(),
            mark.display()
        )
    })
}

/// What is missing at the end of a log with this head. It can be told only as long as the system runs that the server ran on: SQLite's index of the log
/// is not written to the disk for anybody to rely on, but it is what the server left in memory until then.
pub(crate) fn cut(path: &Path, log_head: &[u8], log_bytes: u64) -> Option<String> {
    let left_by = std::fs::read_to_string(mark_path(path)).ok()?;
    if boot()? != left_by {
        return None;
    }
    let index = std::fs::read(beside(path, "-shm")).ok()?;
    let (first, second) = (index.get(..INDEX_HEAD)?, index.get(INDEX_HEAD..2 * INDEX_HEAD)?);
    let initialized = first[12] == 1;
    // A kill while it was written leaves two that differ.
    if first != second || !initialized {
        return None;
    }
    let native = |at: usize| Some(u32::from_ne_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let (frames, merged) = (native(16)?, native(INDEX_BYTES - 4)?);
    let page = match u64::from(u16::from_ne_bytes([first[14], first[15]])) {
        1 => 65_536,
        size => size,
    };
    let needed = LOG_HEADER as u64 + u64::from(frames) * (FRAME_HEADER as u64 + page);
    let same_log = log_head.get(16..24)? == &first[32..40];
    if frames <= merged || (same_log && log_bytes >= needed) {
        return None;
    }
    Some(if same_log {
        format!("its write-ahead log has {log_bytes} bytes, and had {needed}: it was cut off")
    } else {
        format!(
            "its write-ahead log is another one than the server left: put that back, or, if this is the one to go on with, delete `{}`",
            mark_path(path).display()
        )
    })
}

/// Which start of the system this is.
fn boot() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().filter(|id| !id.is_empty())
}

fn folder_of(path: &Path) -> std::io::Result<File> {
    File::open(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}
