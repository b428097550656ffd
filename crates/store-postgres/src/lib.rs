//! The engine of the store for many servers: Postgres. Hand-written SQL over a pool of connections.
//!
//! Mirrors `store-sqlite` file for file; where the dialects differ a comment says why. Start at
//! [`PostgresStore::open`]. Connections are not encrypted yet (`NoTls`): use a socket or a network
//! you trust, or a local proxy that speaks TLS.

mod accounts;
mod audit;
mod clock;
mod components;
mod data_keys;
mod data_stores;
mod db;
mod deliveries;
mod errors;
mod export;
mod forms;
mod gathered_ends;
mod history;
mod interfaces;
mod limits;
mod mail;
mod migrations;
mod nodes;
mod oauth_clients;
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
mod store;
mod stored_files;
mod subscriptions;
mod tenants;
mod uploads;
mod webhooks;
mod workflows;

use millrace_store::{Examined, StoreResult};

/// Where the database is, and its bounds.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host/database`, or the key and value form.
    pub url: String,
    /// Connections of this process at most.
    pub connections: usize,
}

impl PostgresOptions {
    /// The usual bounds.
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), connections: 8 }
    }

    /// Database, host and user, to be shown: "database `app` on `db.example.test:5432` as
    /// `millrace`". `None` where the URL is none.
    pub fn place(&self) -> Option<String> {
        db::place(&self.url)
    }

    /// Variables that tell Postgres's own programs where the database is, password and all. `None`
    /// where the URL is none.
    pub fn client_environment(&self) -> Option<Vec<(&'static str, std::ffi::OsString)>> {
        db::client_environment(&self.url)
    }

    /// Names or addresses of the database's servers with their ports; none of Unix sockets, nor
    /// where the URL is none.
    pub fn hosts(&self) -> Vec<(String, u16)> {
        db::hosts(&self.url)
    }
}

// By hand: the URL holds a password.
impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// A store in one Postgres database, which any number of servers share.
pub struct PostgresStore {
    db: std::sync::Arc<db::Db>,
    ends: std::sync::Arc<gathered_ends::GatheredEnds>,
    /// The run that goes on at which the index of texts looked last.
    open_after: tokio::sync::Mutex<String>,
}

impl PostgresStore {
    /// Connects and brings the schema up to date. `NewerSchema` where a newer Millrace made it.
    pub async fn open(options: PostgresOptions) -> StoreResult<Self> {
        let db = db::Db::open(&options)?;
        migrations::run(&db).await?;
        Ok(Self {
            db: db.into(),
            ends: std::sync::Arc::default(),
            open_after: tokio::sync::Mutex::default(),
        })
    }
}

/// Looks at a database as it is, whether servers use it or not.
///
/// # Errors
/// Where it cannot be reached or read.
pub async fn examine(options: &PostgresOptions) -> StoreResult<Examined> {
    db::examine(options).await
}
