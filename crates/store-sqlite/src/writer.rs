//! The writer: one connection, which commits all writes that wait as one transaction ("group
//! commit"). It does so on a thread of its own; a short write that comes while none waits is
//! committed on the thread of its caller, who would wait for two hand-overs between threads
//! otherwise.

use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millrace_model::error_chain;
use millrace_store::{CommitHealth, StoreError, StoreResult, fail_point};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use crate::db::database;
use crate::in_use::{self, InUse};

/// Operations that are committed together at most.
const GROUP_MAX: usize = 256;
/// After a commit that took longer, no caller commits on its own thread: other work waits for it.
const QUICK: Duration = Duration::from_millis(1);

/// A write: runs its operation, and answers once the group is durable. Without a connection it only
/// answers. Says what it found that is in the way of its whole group (see [`StoreError::of_all`]).
type Write = Box<dyn FnOnce(Option<&Connection>) -> (Option<StoreError>, Answer) + Send>;
/// Tells the waiting caller; given why the commit failed.
type Answer = Box<dyn FnOnce(Option<StoreError>) + Send>;

/// How much an operation does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One statement, which leaves nothing where it fails, in well under a millisecond.
    OneStatement,
    /// Takes well under a millisecond: its caller's thread may do it.
    Short,
    Any,
}

pub(crate) struct Writer {
    queue: Mutex<Option<SyncSender<Write>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    shared: Arc<Shared>,
}

/// What the writer's thread shares with callers that commit themselves.
struct Shared {
    /// None once the writer has ended.
    committer: Mutex<Option<Committer>>,
    /// Writes in the queue, and the one that the thread is about to begin with.
    waiting: AtomicUsize,
    /// Whether the last commit took less than [`QUICK`].
    quick: AtomicBool,
}

impl Writer {
    /// Starts the thread. `queue_max`: writes that wait, beyond which they are refused.
    pub(crate) fn start(
        connection: Connection,
        path: &Path,
        in_use: InUse,
        queue_max: usize,
        health: Arc<CommitHealth>,
    ) -> StoreResult<Self> {
        let (queue, waiting) = sync_channel::<Write>(queue_max.max(1));
        let shared = Arc::new(Shared {
            committer: Mutex::new(Some(Committer::new(connection, path, in_use, health)?)),
            waiting: AtomicUsize::new(0),
            quick: AtomicBool::new(true),
        });
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn({
                let shared = shared.clone();
                move || shared.commit_what_comes(&waiting)
            })
            .map_err(|e| StoreError::Database(Box::new(e)))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)), shared })
    }

    /// Runs `operation`; `Ok` once it is durable. Writes are committed in the order in which they
    /// come.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
        extent: Extent,
    ) -> StoreResult<T> {
        let (sender, receiver) = oneshot::channel::<StoreResult<T>>();
        let write: Write = Box::new(move |connection| {
            let result = match connection {
                Some(connection) if extent == Extent::OneStatement => {
                    one_statement(connection, operation)
                }
                Some(connection) => in_savepoint(connection, operation),
                None => Err(not_committed(None)),
            };
            let found = result.as_ref().err().and_then(StoreError::of_all);
            let answer = move |failed: Option<StoreError>| {
                let result = failed.map_or(result, Err);
                // Whoever asked may have gone away; what was written stays.
                drop(sender.send(result));
            };
            (found, Box::new(answer))
        });
        let left = match extent {
            Extent::OneStatement | Extent::Short => self.shared.commit_here(write),
            Extent::Any => Some(write),
        };
        if let Some(write) = left {
            self.send(write)?;
        }
        receiver.await.unwrap_or(Err(StoreError::Closed))
    }

    fn send(&self, write: Write) -> StoreResult<()> {
        let queue = self.queue.lock();
        let queue = queue.as_ref().ok_or(StoreError::Closed)?;
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        queue.try_send(write).map_err(|refused| {
            self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
            match refused {
                TrySendError::Full(_) => StoreError::Overloaded,
                TrySendError::Disconnected(_) => StoreError::Closed,
            }
        })
    }

    /// Ends after what waits.
    pub(crate) async fn close(&self) {
        self.queue.lock().take();
        let thread = self.thread.lock().take();
        // The writer does not panic; were it to, there is nothing left to write.
        let _ = tokio::task::spawn_blocking(move || thread.map(JoinHandle::join)).await;
    }
}

impl Shared {
    /// Commits a write on this thread, where nothing waits before it and nobody has to wait for
    /// the thread. Gives it back where it is to be queued.
    fn commit_here(&self, write: Write) -> Option<Write> {
        if self.waiting.load(Ordering::Acquire) > 0
            || !self.quick.load(Ordering::Relaxed)
            || !others_go_on()
        {
            return Some(write);
        }
        let Some(mut committer) = self.committer.try_lock() else { return Some(write) };
        let Some(committer) = &mut *committer else { return Some(write) };
        self.commit(committer, write, || None);
        None
    }

    fn commit_what_comes(&self, waiting: &Receiver<Write>) {
        while let Ok(first) = waiting.recv() {
            let mut committer = self.committer.lock();
            // Not before: what came while this one waits is behind it.
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            if let Some(committer) = &mut *committer {
                self.commit(committer, first, || {
                    let next = waiting.try_recv().ok()?;
                    self.waiting.fetch_sub(1, Ordering::AcqRel);
                    Some(next)
                });
            }
        }
        if let Some(committer) = self.committer.lock().take() {
            committer.end();
        }
    }

    fn commit(&self, committer: &mut Committer, first: Write, next: impl FnMut() -> Option<Write>) {
        let began = Instant::now();
        committer.commit(first, next);
        self.quick.store(began.elapsed() < QUICK, Ordering::Relaxed);
    }
}

/// Whether other work goes on while this thread waits for the disk.
fn others_go_on() -> bool {
    Handle::try_current().is_ok_and(|runtime| {
        runtime.runtime_flavor() == RuntimeFlavor::MultiThread
            && runtime.metrics().num_workers() > 1
    })
}

/// What commits: used by one thread at a time.
struct Committer {
    connection: Connection,
    file: Named,
    log: Named,
    in_use: InUse,
    page_bytes: u64,
    health: Arc<CommitHealth>,
}

impl Committer {
    fn new(
        connection: Connection,
        path: &Path,
        in_use: InUse,
        health: Arc<CommitHealth>,
    ) -> StoreResult<Self> {
        let page_bytes = connection
            .query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))
            .map_or(0, i64::cast_unsigned);
        let (file, log) = (Named::of(path)?, Named::of(&in_use::log_path(path))?);
        Ok(Self { connection, file, log, in_use, page_bytes, health })
    }

    /// Commits a write and those that `next` gives as one transaction, then answers them.
    fn commit(&mut self, first: Write, mut next: impl FnMut() -> Option<Write>) {
        let under_way = self.health.begin();
        let mut answers = Vec::new();
        let mut group = run(&self.connection, "BEGIN IMMEDIATE")
            .and_then(|()| self.file.refuse_gone(0))
            .and_then(|()| self.log.refuse_gone(self.in_use.log_bytes_min(self.page_bytes)));
        let mut found_full = false;
        let mut write = Some(first);
        while let Some(one) = write.take() {
            // Without a transaction nothing may be written: the operation is answered with the
            // failure.
            let (found, answer) = one(group.is_ok().then_some(&self.connection));
            answers.push(answer);
            found_full |= matches!(found, Some(StoreError::StorageFull));
            if group.is_ok() && self.connection.is_autocommit() {
                // A full disk, among others, makes SQLite give up the whole transaction within a
                // statement.
                group = Err(found.unwrap_or_else(|| {
                    StoreError::Database("the transaction was given up by the database".into())
                }));
            }
            if answers.len() < GROUP_MAX {
                write = next();
            }
        }
        let group = group.and_then(|()| commit(&self.connection)).inspect(|()| self.in_use.mark());
        under_way.end(if found_full { &Err(StoreError::StorageFull) } else { &group });
        if let Err(cause) = &group {
            tracing::error!(error = error_chain(cause), "a group of writes could not be committed");
            // A failed BEGIN leaves nothing to roll back.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        for answer in answers {
            answer(group.as_ref().err().map(|cause| not_committed(Some(cause))));
        }
    }

    /// Leaves a small file behind; if it cannot, the next start does it, and is to know how far
    /// the log had come.
    fn end(self) {
        drop(self.in_use);
        if self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").is_err() {
            InUse::new(&self.file.path).leave();
        }
    }
}

/// The file of the database or its log, by its name and by what it is.
struct Named {
    path: PathBuf,
    /// Device and number on it.
    is: (u64, u64),
}

impl Named {
    fn of(path: &Path) -> StoreResult<Self> {
        let (is, _) = Self::look(path).map_err(|e| StoreError::Database(Box::new(e)))?;
        Ok(Self { path: path.to_owned(), is })
    }

    /// What it is, and how many bytes it has.
    fn look(path: &Path) -> std::io::Result<((u64, u64), u64)> {
        std::fs::metadata(path).map(|file| ((file.dev(), file.ino()), file.len()))
    }

    /// A file that was removed or replaced is written to as before, and nobody ever reads it again;
    /// nor what is behind the part that was cut off a log: nothing may be acknowledged that is in
    /// it.
    fn refuse_gone(&self, bytes_min: u64) -> StoreResult<()> {
        let how = match Self::look(&self.path) {
            Ok((is, bytes)) if is == self.is && bytes >= bytes_min => return Ok(()),
            Ok((is, bytes)) if is == self.is => {
                format!("it has {bytes} bytes, and {bytes_min} were written; put it back as it was")
            }
            Ok(_) => "another file is in its place".into(),
            Err(error) => error.to_string(),
        };
        Err(StoreError::Unavailable(
            format!(
                "`{}` was removed, replaced or cut while the server runs: {how}",
                self.path.display()
            )
            .into(),
        ))
    }
}

fn commit(connection: &Connection) -> StoreResult<()> {
    fail_point!("store.commit");
    run(connection, "COMMIT")
}

/// What each operation of a group is answered with that could not be committed.
fn not_committed(cause: Option<&StoreError>) -> StoreError {
    cause
        .and_then(StoreError::of_all)
        .unwrap_or_else(|| StoreError::Database("the transaction could not be committed".into()))
}

/// An operation of one statement, which leaves nothing by itself where it fails. Were the operation
/// to fail after it, nothing of its group may stay.
fn one_statement<T>(
    connection: &Connection,
    operation: impl FnOnce(&Connection) -> StoreResult<T>,
) -> StoreResult<T> {
    let changes = connection.total_changes();
    let result = caught(connection, operation);
    if result.is_err() && connection.total_changes() != changes && !connection.is_autocommit() {
        run(connection, "ROLLBACK")?;
    }
    result
}

/// What an operation gives; one that panics fails.
fn caught<T>(
    connection: &Connection,
    operation: impl FnOnce(&Connection) -> StoreResult<T>,
) -> StoreResult<T> {
    // What it changed is rolled back, and it owns whatever else it touched.
    std::panic::catch_unwind(AssertUnwindSafe(|| operation(connection)))
        .unwrap_or_else(|_| Err(StoreError::Database("a write panicked".into())))
}

/// An operation that fails, or panics, leaves nothing; those of its group stay. SQLite copies each
/// page that it changes for that.
fn in_savepoint<T>(
    connection: &Connection,
    operation: impl FnOnce(&Connection) -> StoreResult<T>,
) -> StoreResult<T> {
    run(connection, "SAVEPOINT op")?;
    let result = caught(connection, operation);
    if connection.is_autocommit() {
        return result.and_then(|_| Err(not_committed(None)));
    }
    if result.is_err() {
        connection.execute_batch("ROLLBACK TO op").map_err(database)?;
    }
    run(connection, "RELEASE op")?;
    result
}

/// Runs a statement without parameters, which is prepared once.
fn run(connection: &Connection, sql: &str) -> StoreResult<()> {
    connection.prepare_cached(sql).and_then(|mut s| s.execute([])).map(drop).map_err(database)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn failed(extended_code: i32) -> StoreError {
        database(rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None))
    }

    #[test]
    fn a_disk_that_fails_is_away_for_each_of_a_group() {
        for code in [
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR,
        ] {
            let cause = failed(code);
            assert!(matches!(cause, StoreError::Unavailable(_)), "{cause:?}");
            let told = not_committed(Some(&cause));
            assert!(
                matches!(&told, StoreError::Unavailable(why) if why.to_string().contains("I/O")),
                "{told:?}"
            );
        }
        let told = |code| not_committed(Some(&failed(code)));
        assert!(matches!(told(ffi::SQLITE_FULL), StoreError::StorageFull));
        assert!(matches!(told(ffi::SQLITE_IOERR_SHMSIZE), StoreError::StorageFull));
        assert!(matches!(told(ffi::SQLITE_IOERR_DATA), StoreError::Damaged { .. }));
        assert!(matches!(told(ffi::SQLITE_MISUSE), StoreError::Database(_)));
    }
}
