//! Work on one record that is done one after the other in this server.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The records that something is done with, by id.
#[derive(Default)]
pub(crate) struct OneByOne(Mutex<HashMap<String, Arc<AsyncMutex<()>>>>);

impl OneByOne {
    /// Waits for the turn at a record; it ends when what is given is dropped.
    pub(crate) async fn turn(&self, id: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            // Those in their turn or on their way to it hold theirs.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(id.to_owned()).or_default().clone()
        };
        lock.lock_owned().await
    }
}
