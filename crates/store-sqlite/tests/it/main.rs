//! Conformance suite of the store, and tests of SQLite alone.

use std::sync::Arc;

use async_trait::async_trait;
use millrace_store::conformance::Database;
use millrace_store::{Store, StoreError};
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

mod cut_off;
mod damage;
mod own;

millrace_store::suite!(crate::fresh);

/// A file in a folder that goes with it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::at(self.0.path().join("millrace.db"))
    }
}

#[async_trait]
impl Database for Folder {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&self.options()).expect("opens"))
    }
}

async fn fresh() -> Option<Folder> {
    Some(Folder::new())
}

fn refusal(options: &SqliteOptions) -> Option<StoreError> {
    SqliteStore::open(options).err()
}
