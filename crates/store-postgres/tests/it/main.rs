//! Conformance suite of the store, and tests of Postgres alone. Starts a Postgres of its own.

use std::sync::Arc;

use async_trait::async_trait;
use millrace_store::Store;
use millrace_store::conformance::Database;
use millrace_store_postgres::{PostgresOptions, PostgresStore};

mod cluster;
mod order;
mod own;
mod pruned_at_once;
mod subscribed;

millrace_store::suite!(crate::fresh);

#[async_trait]
impl Database for cluster::Database {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::open(PostgresOptions::at(self.url())).await.expect("opens"))
    }
}

async fn fresh() -> Option<cluster::Database> {
    Some(cluster::cluster()?.database().await)
}
