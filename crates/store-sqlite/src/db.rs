//! Connections: one writer with group commit, a few readers that never wait for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use millrace_store::{Examined, StoreError, StoreResult};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use crate::{SqliteOptions, migrations};

/// Operations that are committed together at most.
const GROUP_MAX: usize = 256;

/// Long reads at once: each keeps the file from being tidied, and a thread.
const ASIDE_MAX: usize = 2;

/// A write: runs inside a savepoint, and answers once the group is durable. Without a connection it only answers.
type Write = Box<dyn FnOnce(Option<&Connection>) -> Answer + Send>;
/// Tells the waiting caller; given whether the commit failed.
type Answer = (bool, Box<dyn FnOnce(Option<StoreError>) + Send>);

pub(crate) struct Db {
    writer: Mutex<Option<SyncSender<Write>>>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    readers: Arc<Readers>,
    path: PathBuf,
    /// Places for long reads, each on a connection of its own.
    aside: Arc<tokio::sync::Semaphore>,
}

struct Readers {
    idle: Mutex<Vec<Connection>>,
    places: tokio::sync::Semaphore,
}

impl Db {
    pub(crate) fn open(options: &SqliteOptions) -> StoreResult<Self> {
        let writer = connect(&options.path)?;
        migrations::run(&writer)?;
        let count = options.reader_connections.max(1);
        let idle = (0..count).map(|_| connect(&options.path)).collect::<StoreResult<Vec<_>>>()?;
        let (queue, waiting) = sync_channel::<Write>(options.write_queue.max(1));
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || write_loop(writer, &waiting))
            .map_err(|e| StoreError::Database(Box::new(e)))?;
        let readers = Arc::new(Readers { idle: Mutex::new(idle), places: tokio::sync::Semaphore::new(count) });
        let aside = Arc::new(tokio::sync::Semaphore::new(ASIDE_MAX));
        Ok(Self { writer: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)), readers, path: options.path.clone(), aside })
    }

    /// Runs `operation` in the writer; `Ok` once it is durable.
    pub(crate) async fn write<T: Send + 'static>(&self, operation: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static) -> StoreResult<T> {
        let (tell, told) = oneshot::channel::<StoreResult<T>>();
        let write: Write = Box::new(move |connection| {
            let result = match connection {
                Some(connection) => in_savepoint(connection, operation),
                None => Err(not_committed()),
            };
            let good = result.is_ok();
            // Whoever asked may have gone away; what was written stays.
            (
                good,
                Box::new(move |failed| {
                    drop(tell.send(match failed {
                        Some(error) if good => Err(error),
                        _ => result,
                    }))
                }),
            )
        });
        let sent = match &*self.writer.lock() {
            Some(queue) => queue.try_send(write),
            None => return Err(StoreError::Closed),
        };
        match sent {
            Ok(()) => told.await.unwrap_or(Err(StoreError::Closed)),
            Err(TrySendError::Full(_)) => Err(StoreError::Overloaded),
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
        }
    }

    /// Runs `query` on a reader.
    pub(crate) async fn read<T: Send + 'static>(&self, query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static) -> StoreResult<T> {
        let readers = self.readers.clone();
        let _place = self.readers.places.acquire().await.map_err(|_| StoreError::Closed)?;
        tokio::task::spawn_blocking(move || {
            let connection = readers.idle.lock().pop().ok_or(StoreError::Closed)?;
            let result = query(&connection);
            readers.idle.lock().push(connection);
            result
        })
        .await
        .map_err(|e| StoreError::Database(Box::new(e)))?
    }

    /// Runs a long `query` on one state of the database, out of the way of the readers. `Overloaded` where enough others do.
    pub(crate) async fn read_aside<T: Send + 'static>(&self, query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static) -> StoreResult<T> {
        if self.readers.places.is_closed() {
            return Err(StoreError::Closed);
        }
        let place = self.aside.clone().try_acquire_owned().map_err(|_| StoreError::Overloaded)?;
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let connection = connect(&path)?;
            // The transaction ends with the connection.
            connection.execute_batch("PRAGMA query_only = ON; BEGIN").map_err(database)?;
            query(&connection)
        })
        .await
        .map_err(|e| StoreError::Database(Box::new(e)))?
    }

    /// Ends the writer after what waits, and refuses reads from now on.
    pub(crate) async fn close(&self) {
        self.readers.places.close();
        self.writer.lock().take();
        let thread = self.thread.lock().take();
        // The writer does not panic; were it to, there is nothing left to write.
        let _ = tokio::task::spawn_blocking(move || thread.map(std::thread::JoinHandle::join)).await;
    }
}

fn connect(path: &Path) -> StoreResult<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(database)?;
    // FULL: a commit that was acknowledged survives a power cut, in WAL mode too.
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 10000; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 2000;")
        .map_err(database)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// See [`crate::examine`].
pub(crate) fn examine(path: &Path) -> StoreResult<Examined> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(database)?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(database)?;
    let schema = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(database)?;
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(database)?;
    Ok(Examined { engine: format!("SQLite {}", rusqlite::version()), schema, known: migrations::known(), damage: (said != "ok").then_some(said), clock: None })
}

/// Takes all writes that wait, commits them as one transaction, then answers them.
fn write_loop(connection: Connection, waiting: &Receiver<Write>) {
    while let Ok(first) = waiting.recv() {
        let mut answers = Vec::new();
        let begun = connection.execute_batch("BEGIN IMMEDIATE").map_err(database);
        let mut error = begun.err();
        let mut next = Some(first);
        while let Some(write) = next.take() {
            // Without a transaction nothing may be written: the operation is answered with the failure.
            answers.push(write(error.is_none().then_some(&connection)).1);
            if answers.len() < GROUP_MAX {
                next = waiting.try_recv().ok();
            }
        }
        if error.is_none() {
            error = connection.execute_batch("COMMIT").map_err(database).err();
        }
        if let Some(cause) = &error {
            tracing::error!(error = %cause, "a group of writes could not be committed");
            // A failed BEGIN leaves nothing to roll back.
            let _ = connection.execute_batch("ROLLBACK");
        }
        let failed = error.is_some();
        for answer in answers {
            answer(failed.then(not_committed));
        }
    }
    // Leaves a small file behind; if it cannot, the next start does it.
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
}

fn not_committed() -> StoreError {
    StoreError::Database("the transaction could not be committed".into())
}

fn in_savepoint<T>(connection: &Connection, operation: impl FnOnce(&Connection) -> StoreResult<T>) -> StoreResult<T> {
    connection.prepare_cached("SAVEPOINT op").and_then(|mut s| s.execute([])).map_err(database)?;
    let result = operation(connection);
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
        return StoreError::Taken(["name_slug", "orgname", "key_hash", "key", "name"].into_iter().find(|name| *name == column).unwrap_or("id"));
    }
    StoreError::Database(Box::new(error))
}
