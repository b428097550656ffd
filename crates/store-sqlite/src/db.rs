//! Connections: one writer with group commit, a few readers that never wait for it.

use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use millrace_model::error_chain;
use millrace_store::{CommitHealth, Condition, Examined, StoreError, StoreResult, fail_point};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, ffi};
use tokio::sync::oneshot;

use crate::in_use::{self, InUse};
use crate::{SqliteOptions, damage, data_keys, migrations, pages, rows};

/// Operations that are committed together at most.
const GROUP_MAX: usize = 256;

/// Pages of history that are read at once.
const HISTORY_READERS: usize = 2;
/// Long reads at once: each keeps the file from being tidied, and a thread.
const ASIDE_MAX: usize = 2;

/// A write: runs inside a savepoint, and answers once the group is durable. Without a connection it
/// only answers. Says what it found that is in the way of its whole group: see [`of_all`].
type Write = Box<dyn FnOnce(Option<&Connection>) -> (Option<StoreError>, Answer) + Send>;
/// Tells the waiting caller; given why the commit failed.
type Answer = Box<dyn FnOnce(Option<StoreError>) + Send>;

pub(crate) struct Db {
    writer: Mutex<Option<SyncSender<Write>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    readers: Arc<Readers>,
    /// Those of history.
    history: Arc<Readers>,
    path: PathBuf,
    /// Places for long reads, each on a connection of its own.
    aside: Arc<tokio::sync::Semaphore>,
    health: Arc<CommitHealth>,
}

struct Readers {
    idle: Mutex<Vec<Connection>>,
    places: Arc<tokio::sync::Semaphore>,
}

impl Readers {
    fn open(path: &Path, count: usize) -> StoreResult<Arc<Self>> {
        let idle = (0..count).map(|_| connect(path)).collect::<StoreResult<Vec<_>>>()?;
        Ok(Arc::new(Self {
            idle: Mutex::new(idle),
            places: Arc::new(tokio::sync::Semaphore::new(count)),
        }))
    }

    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        // The place goes with the connection, and comes back with it: whoever asked may go away
        // before the query ends.
        let place = self.places.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let connection = readers.idle.lock().pop().ok_or(StoreError::Closed)?;
            // One state of the database, however many statements: a page and its count are of one
            // moment.
            let result = connection
                .unchecked_transaction()
                .map_err(database)
                .and_then(|state| query(&state));
            readers.idle.lock().push(connection);
            drop(place);
            result
        });
        read.await.map_err(|e| StoreError::Database(Box::new(e)))?
    }
}

impl Db {
    pub(crate) fn open(options: &SqliteOptions) -> StoreResult<Self> {
        damage::refuse(&options.path)?;
        let writer = open(&options.path)?;
        damage::read_through(&writer, &options.path)?;
        use_log(&writer)?;
        migrations::run(&writer)?;
        if !pages::has_checksums(&options.path) {
            tracing::warn!(
                "the pages of the database have no checksums, as it was made without: a copy by `millrace backup` has them, and `millrace restore` puts it in its place"
            );
        }
        let in_use = InUse::new(&options.path);
        damage::merge_log(&writer)?;
        let readers = Readers::open(&options.path, options.reader_connections.max(1))?;
        let history = Readers::open(&options.path, HISTORY_READERS)?;
        let (queue, waiting) = sync_channel::<Write>(options.write_queue.max(1));
        let health = Arc::new(CommitHealth::default());
        let commits = health.clone();
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn({
                let files =
                    [Named::of(&options.path)?, Named::of(&in_use::log_path(&options.path))?];
                move || write_loop(writer, &files, in_use, &waiting, &commits)
            })
            .map_err(|e| StoreError::Database(Box::new(e)))?;
        let aside = Arc::new(tokio::sync::Semaphore::new(ASIDE_MAX));
        Ok(Self {
            writer: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            readers,
            history,
            path: options.path.clone(),
            aside,
            health,
        })
    }

    /// How writes fare.
    pub(crate) fn condition(&self) -> Condition {
        self.health.condition()
    }

    /// Runs `operation` in the writer; `Ok` once it is durable.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (tell, told) = oneshot::channel::<StoreResult<T>>();
        let write: Write = Box::new(move |connection| {
            let result = match connection {
                Some(connection) => in_savepoint(connection, operation),
                None => Err(not_committed(None)),
            };
            let found = result.as_ref().err().and_then(of_all);
            let answer = move |failed: Option<StoreError>| {
                let result = failed.map_or(result, Err);
                // Whoever asked may have gone away; what was written stays.
                drop(tell.send(result));
            };
            (found, Box::new(answer))
        });
        let sent = match &*self.writer.lock() {
            Some(queue) => queue.try_send(write),
            None => return Err(StoreError::Closed),
        };
        match sent {
            Ok(()) => self.look_for_damage(told.await.unwrap_or(Err(StoreError::Closed))),
            Err(TrySendError::Full(_)) => Err(StoreError::Overloaded),
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
        }
    }

    /// Runs `query` on a reader.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.look_for_damage(self.readers.read(query).await)
    }

    /// Reads rows of a queue on a reader, and sets aside those that cannot be read, by the ids that
    /// `query` gives of them.
    pub(crate) async fn queued<T: Send + 'static>(
        &self,
        table: &'static str,
        query: impl FnOnce(&Connection) -> StoreResult<(Vec<T>, Vec<String>)> + Send + 'static,
    ) -> StoreResult<Vec<T>> {
        let (rows, spoiled) = self.read(query).await?;
        if !spoiled.is_empty() {
            self.write(move |c| rows::set_aside(c, table, &spoiled)).await?;
        }
        Ok(rows)
    }

    /// Runs `query` on a reader that only what shows history has: a page of large events takes
    /// long, and nothing that runs waits for it.
    pub(crate) async fn read_history<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.look_for_damage(self.history.read(query).await)
    }

    /// Runs a long `query` on one state of the database, out of the way of the readers.
    /// `Overloaded` where enough others do.
    pub(crate) async fn read_aside<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        if self.readers.places.is_closed() {
            return Err(StoreError::Closed);
        }
        let place = self.aside.clone().try_acquire_owned().map_err(|_| StoreError::Overloaded)?;
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || {
            let _place = place;
            let connection = connect(&path)?;
            // The transaction ends with the connection.
            connection.execute_batch("PRAGMA query_only = ON; BEGIN").map_err(database)?;
            query(&connection)
        });
        self.look_for_damage(read.await.map_err(|e| StoreError::Database(Box::new(e)))?)
    }

    fn look_for_damage<T>(&self, result: StoreResult<T>) -> StoreResult<T> {
        if let Err(StoreError::Damaged { .. }) = &result {
            self.health.found_damage();
        }
        result
    }

    /// Ends the writer after what waits, and refuses reads from now on.
    pub(crate) async fn close(&self) {
        self.readers.places.close();
        self.history.places.close();
        self.writer.lock().take();
        let thread = self.thread.lock().take();
        // The writer does not panic; were it to, there is nothing left to write.
        let _ =
            tokio::task::spawn_blocking(move || thread.map(std::thread::JoinHandle::join)).await;
    }
}

fn connect(path: &Path) -> StoreResult<Connection> {
    let connection = open(path)?;
    use_log(&connection)?;
    damage::merge_log(&connection)?;
    Ok(connection)
}

/// Changes nothing yet, and leaves a log as it is: what is read may be found to be damaged.
fn open(path: &Path) -> StoreResult<Connection> {
    let connection = pages::open(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    damage::leave_log(&connection, path)?;
    // FULL: a commit that was acknowledged survives a power cut, in WAL mode too.
    connection
        .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 10000; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 2000;")
        .map_err(database)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// Writes to a file that had none, as copies have.
fn use_log(connection: &Connection) -> StoreResult<()> {
    connection.execute_batch("PRAGMA journal_mode = WAL").map_err(database)
}

/// See [`crate::examine`].
pub(crate) fn examine(path: &Path) -> StoreResult<Examined> {
    let left = damage::refuse_left(path);
    let connection =
        pages::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(database)?;
    let schema =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(database)?;
    let damage = match left {
        Err(StoreError::Damaged { what }) => Some(what),
        left => {
            left?;
            damage::find(&connection, path)?
        }
    };
    let checksums = if pages::has_checksums(path) {
        ""
    } else {
        ", without checksums of its pages: a copy by `millrace backup` has them"
    };
    let master_ids =
        if damage.is_none() { data_keys::master_ids(&connection)? } else { Vec::new() };
    let engine = format!("SQLite {}{checksums}", rusqlite::version());
    Ok(Examined {
        engine,
        schema,
        known: migrations::known(),
        damage,
        unfit: None,
        master_ids,
        clock: None,
    })
}

/// Writes a page and changes nothing.
pub(crate) fn probe(connection: &Connection) -> StoreResult<()> {
    let version: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(database)?;
    connection.pragma_update(None, "user_version", version).map_err(database)
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

/// Takes all writes that wait, commits them as one transaction, then answers them.
fn write_loop(
    connection: Connection,
    files: &[Named; 2],
    mut in_use: InUse,
    waiting: &Receiver<Write>,
    health: &CommitHealth,
) {
    let page_bytes = connection
        .query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))
        .map_or(0, i64::cast_unsigned);
    let [file, log] = files;
    while let Ok(first) = waiting.recv() {
        let under_way = health.begin();
        let mut answers = Vec::new();
        let mut group = connection
            .execute_batch("BEGIN IMMEDIATE")
            .map_err(database)
            .and_then(|()| file.refuse_gone(0))
            .and_then(|()| log.refuse_gone(in_use.log_bytes_min(page_bytes)));
        let mut found_full = false;
        let mut next = Some(first);
        while let Some(write) = next.take() {
            // Without a transaction nothing may be written: the operation is answered with the
            // failure.
            let (found, answer) = write(group.is_ok().then_some(&connection));
            answers.push(answer);
            found_full |= matches!(found, Some(StoreError::StorageFull));
            if group.is_ok() && connection.is_autocommit() {
                // A full disk, among others, makes SQLite give up the whole transaction within a
                // statement.
                group = Err(found.unwrap_or_else(|| {
                    StoreError::Database("the transaction was given up by the database".into())
                }));
            }
            if answers.len() < GROUP_MAX {
                next = waiting.try_recv().ok();
            }
        }
        let group = group.and_then(|()| commit(&connection)).inspect(|()| in_use.mark());
        under_way.end(if found_full { &Err(StoreError::StorageFull) } else { &group });
        if let Err(cause) = &group {
            tracing::error!(error = error_chain(cause), "a group of writes could not be committed");
            // A failed BEGIN leaves nothing to roll back.
            let _ = connection.execute_batch("ROLLBACK");
        }
        for answer in answers {
            answer(group.as_ref().err().map(|cause| not_committed(Some(cause))));
        }
    }
    drop(in_use);
    // Leaves a small file behind; if it cannot, the next start does it, and is to know how far the
    // log had come.
    if connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").is_err() {
        InUse::new(&file.path).leave();
    }
}

fn commit(connection: &Connection) -> StoreResult<()> {
    fail_point!("store.commit");
    connection.execute_batch("COMMIT").map_err(database)
}

/// What each operation of a group is answered with that could not be committed.
fn not_committed(cause: Option<&StoreError>) -> StoreError {
    cause
        .and_then(of_all)
        .unwrap_or_else(|| StoreError::Database("the transaction could not be committed".into()))
}

/// A failure that is the file's or its disk's, and not that of one operation: the same for each of
/// the group.
fn of_all(error: &StoreError) -> Option<StoreError> {
    match error {
        StoreError::StorageFull => Some(StoreError::StorageFull),
        StoreError::Damaged { what } => Some(StoreError::Damaged { what: what.clone() }),
        StoreError::Unavailable(cause) => {
            Some(StoreError::Unavailable(error_chain(&**cause).into()))
        }
        _ => None,
    }
}

/// An operation that fails, or panics, leaves nothing; those of its group stay.
fn in_savepoint<T>(
    connection: &Connection,
    operation: impl FnOnce(&Connection) -> StoreResult<T>,
) -> StoreResult<T> {
    connection.prepare_cached("SAVEPOINT op").and_then(|mut s| s.execute([])).map_err(database)?;
    // What it changed is rolled back, and it owns whatever else it touched.
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| operation(connection)))
        .unwrap_or_else(|_| Err(StoreError::Database("a write panicked".into())));
    if connection.is_autocommit() {
        return result.and_then(|_| Err(not_committed(None)));
    }
    if result.is_err() {
        connection.execute_batch("ROLLBACK TO op").map_err(database)?;
    }
    connection.prepare_cached("RELEASE op").and_then(|mut s| s.execute([])).map_err(database)?;
    result
}

/// A failure of the database, or of a constraint that the caller can understand.
pub(crate) fn database(error: rusqlite::Error) -> StoreError {
    if let rusqlite::Error::SqliteFailure(code, Some(text)) = &error
        && code.code == rusqlite::ErrorCode::ConstraintViolation
        && let Some(columns) = text.strip_prefix("UNIQUE constraint failed: ")
    {
        // `table.column, table.column`: the last one tells.
        let column = columns.rsplit('.').next().unwrap_or_default();
        return StoreError::Taken(
            ["name_slug", "orgname", "key_hash", "key", "name", "email"]
                .into_iter()
                .find(|name| *name == column)
                .unwrap_or("id"),
        );
    }
    let extended = |is: i32| matches!(&error, rusqlite::Error::SqliteFailure(code, _) if code.extended_code == is);
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::SystemIoFailure) if extended(ffi::SQLITE_IOERR_DATA) => {
            StoreError::Damaged { what: pages::broken().unwrap_or_else(|| error.to_string()) }
        }
        Some(rusqlite::ErrorCode::SystemIoFailure) if extended(ffi::SQLITE_IOERR_SHORT_READ) => {
            StoreError::Damaged { what: "it ends before what it should hold".into() }
        }
        // The file beside the log could not grow, which SQLite gives no name of its own.
        Some(rusqlite::ErrorCode::SystemIoFailure) if extended(ffi::SQLITE_IOERR_SHMSIZE) => {
            StoreError::StorageFull
        }
        // Of what a disk refuses nobody can say whether it was done: a sync that fails may have
        // kept what was written.
        Some(rusqlite::ErrorCode::SystemIoFailure) => StoreError::Unavailable(Box::new(error)),
        Some(rusqlite::ErrorCode::DiskFull) => StoreError::StorageFull,
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            StoreError::Damaged { what: error.to_string() }
        }
        _ => StoreError::Database(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
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
