//! Writes of hooks to `$.service.db`, stored as they come: a request that arrives while a hook
//! waits for it sees them, on this server and on others.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::error_chain;
use millrace_model::ids::SourceId;
use millrace_store::{Effects, SourceChange};
use parking_lot::Mutex;

use crate::service_db::DbWrite;
use crate::{Engine, EngineError};

/// The sources whose hooks are under way: how many, and what they wrote.
#[derive(Default)]
pub(crate) struct HookWrites(Mutex<HashMap<SourceId, (usize, Arc<Pending>)>>);

/// Writes that are not stored yet.
#[derive(Default)]
struct Pending {
    writes: Mutex<Vec<DbWrite>>,
    /// Held while some are being stored: a run that waits for the writes of a hook waits for those
    /// too.
    storing: tokio::sync::Mutex<()>,
}

/// The `$.service.db` of a hook under way. Dropped once the hook has ended.
pub(crate) struct HookDb {
    engine: Engine,
    source: SourceId,
    pending: Arc<Pending>,
}

impl HookDb {
    /// Takes a write and stores it in the background.
    pub(crate) fn wrote(&self, write: DbWrite) {
        self.pending.writes.lock().push(write);
        let (engine, source) = (self.engine.clone(), self.source.clone());
        self.engine.0.tasks.spawn(async move {
            if let Err(error) = engine.store_hook_writes(&source).await {
                // They are still pending: the end of the hook stores them, or fails with it.
                tracing::debug!(source.id = %source, error = error_chain(&error), "a hook's writes could not be stored yet");
            }
        });
    }
}

impl Drop for HookDb {
    fn drop(&mut self) {
        let mut sources = self.engine.0.hook_writes.0.lock();
        let Some((hooks, _)) = sources.get_mut(&self.source) else { return };
        *hooks -= 1;
        if *hooks == 0 {
            sources.remove(&self.source);
        }
    }
}

impl Engine {
    /// Opens the `$.service.db` of a hook.
    pub(crate) fn hook_db(&self, source: &SourceId) -> HookDb {
        let pending = {
            let mut sources = self.0.hook_writes.0.lock();
            let (hooks, pending) = sources.entry(source.clone()).or_default();
            *hooks += 1;
            pending.clone()
        };
        HookDb { engine: self.clone(), source: source.clone(), pending }
    }

    /// Stores what hooks of a source have written so far. Where that fails the writes are kept, and
    /// the next call tries again.
    pub(crate) async fn store_hook_writes(&self, source: &SourceId) -> Result<(), EngineError> {
        let Some((_, pending)) = self.0.hook_writes.0.lock().get(source).cloned() else {
            return Ok(());
        };
        let _storing = pending.storing.lock().await;
        let db = pending.writes.lock().clone();
        if db.is_empty() {
            return Ok(());
        }
        let count = db.len();
        if let Some(size) = self.db_beyond_limit(source, &db).await? {
            // The runtime refuses such a write; what comes around it is lost, and nobody else's run
            // waits for it.
            tracing::warn!(source.id = %source, size, "a hook's writes to `$.service.db` are dropped: it would be larger than it may");
            pending.writes.lock().drain(..count);
            return Ok(());
        }
        let change = SourceChange { source_id: source.clone(), dedupe: None, db };
        self.0.store.settle_effects(Effects { source: Some(change), ..Effects::default() }).await?;
        pending.writes.lock().drain(..count);
        Ok(())
    }
}
