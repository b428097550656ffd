//! The embedded engine of the store: SQLite with one writer that commits many operations as one transaction.

mod accounts;
mod components;
mod data_keys;
mod data_stores;
mod db;
mod deliveries;
mod errors;
mod history;
mod interfaces;
mod limits;
mod mail;
mod migrations;
mod pauses;
mod registries;
mod replays;
mod rows;
mod runs;
mod settle;
mod sources;
mod store;
mod subscriptions;
mod tenants;
mod uploads;
mod webhooks;
mod workflows;

use std::path::PathBuf;

use millrace_store::{Examined, StoreResult};

/// Where the database is, and its bounds.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The file; made where it is missing.
    pub path: PathBuf,
    /// Connections that read.
    pub reader_connections: usize,
    /// Writes that wait, beyond which they are refused.
    pub write_queue: usize,
}

impl SqliteOptions {
    /// The usual bounds.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), reader_connections: 2, write_queue: 10_000 }
    }
}

/// A store in one SQLite file.
pub struct SqliteStore {
    db: db::Db,
}

impl SqliteStore {
    /// Opens the file, brings its schema up to date and starts the writer.
    pub fn open(options: &SqliteOptions) -> StoreResult<Self> {
        Ok(Self { db: db::Db::open(options)? })
    }
}

/// Looks at a file as it is, whether a server uses it or not.
///
/// # Errors
/// Where it cannot be opened or read as a database.
pub fn examine(path: &std::path::Path) -> StoreResult<Examined> {
    db::examine(path)
}
