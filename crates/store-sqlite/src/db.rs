//! Connections: one writer with group commit, a few readers that never wait for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use millrace_store::{CommitHealth, Condition, Examined, StoreError, StoreResult};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, ffi};

use crate::in_use::InUse;
use crate::writer::{Extent, Writer};
use crate::{SqliteOptions, damage, data_keys, migrations, pages, rows};

/// Pages of history that are read at once.
const HISTORY_READERS: usize = 2;
/// Long reads at once: each keeps the file from being tidied, and a thread.
const ASIDE_MAX: usize = 2;

pub(crate) struct Db {
    writer: Writer,
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
        let health = Arc::new(CommitHealth::default());
        let writer =
            Writer::start(writer, &options.path, in_use, options.write_queue, health.clone())?;
        let aside = Arc::new(tokio::sync::Semaphore::new(ASIDE_MAX));
        Ok(Self { writer, readers, history, path: options.path.clone(), aside, health })
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
        self.look_for_damage(self.writer.write(operation, Extent::Any).await)
    }

    /// As [`Db::write`], of an operation whose extent is known.
    pub(crate) async fn write_of<T: Send + 'static>(
        &self,
        extent: Extent,
        operation: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.look_for_damage(self.writer.write(operation, extent).await)
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
        self.writer.close().await;
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
