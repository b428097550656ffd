//! Context for tests: a database of its own, and a clock that the test moves.

use std::sync::Arc;

use millrace_model::clock::{ManualClock, Timestamp};
use millrace_model::{Clock, IdSource};
use millrace_store::Store;
use millrace_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

use crate::EngineConfig;
use crate::background::Tasks;
use crate::cache::Cache;
use crate::ctx::Ctx;
use crate::one_by_one::OneByOne;

pub(crate) struct TestCtx {
    pub(crate) ctx: Arc<Ctx>,
    pub(crate) clock: Arc<ManualClock>,
    /// Holds the database until the test is over.
    _folder: TempDir,
}

impl TestCtx {
    pub(crate) fn new(config: EngineConfig) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&SqliteOptions::at(folder.path().join("test.db")));
        let store: Arc<dyn Store> = Arc::new(store.expect("opens"));
        let clock = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
        let ctx = Arc::new(Ctx {
            config,
            store,
            clock: clock.clone() as Arc<dyn Clock>,
            ids: Arc::new(IdSource::default()),
            node: "node_test".into(),
            cache: Cache::default(),
            tasks: Tasks::default(),
            changes: OneByOne::default(),
        });
        // As of a server that has its database to itself.
        ctx.cache.has_no_others();
        Self { ctx, clock, _folder: folder }
    }
}
