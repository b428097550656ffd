//! The embedded engine of the store: SQLite with one writer that commits many operations as one
//! transaction.

mod accounts;
mod audit;
mod backup;
mod clock;
mod components;
mod damage;
mod data_keys;
mod data_stores;
mod db;
mod deliveries;
mod errors;
mod export;
mod forms;
mod history;
mod in_use;
mod interfaces;
mod limits;
mod mail;
mod migrations;
mod oauth_clients;
mod pages;
mod pauses;
mod people;
mod registries;
mod replays;
mod retention;
mod roles;
mod rows;
mod runs;
mod search;
mod settle;
mod sources;
mod steps;
mod store;
mod stored_files;
mod subscriptions;
mod tenants;
mod uploads;
mod webhooks;
mod workflows;
mod writer;

use std::path::{Path, PathBuf};

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
    /// The run that goes on at which the index of texts looked last.
    open_after: std::sync::Arc<parking_lot::Mutex<String>>,
}

impl SqliteStore {
    /// Opens the file, brings its schema up to date and starts the writer. `Damaged` where the file
    /// is there and cannot be read whole.
    pub fn open(options: &SqliteOptions) -> StoreResult<Self> {
        Ok(Self { db: db::Db::open(options)?, open_after: std::sync::Arc::default() })
    }

    /// Copies the database as it is at one moment into a new file, also while a server writes to
    /// it. It is durable once this answers.
    pub fn backup(from: &Path, to: &Path) -> StoreResult<()> {
        backup::backup(from, to)
    }

    /// Ids of the master keys that the data keys of a database are under.
    pub fn master_keys(path: &Path) -> StoreResult<Vec<String>> {
        backup::master_keys(path)
    }

    /// That a file is a whole database of a version that is known.
    pub fn check(path: &Path) -> StoreResult<()> {
        backup::check(path)
    }
}

/// Looks at a file as it is, whether a server uses it or not.
///
/// # Errors
/// Where it cannot be opened or read as a database.
pub fn examine(path: &std::path::Path) -> StoreResult<Examined> {
    db::examine(path)
}
