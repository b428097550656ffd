//! Whether a key still stands, for answers that go on after it was shown.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::{Engine, EngineError};

/// How often a key is looked at though nothing was heard of it: it may end, or another server may
/// have revoked it unheard.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A key that was shown, as long as something is told to who showed it.
pub struct Standing {
    engine: Engine,
    key: String,
    /// Told whenever keys or tokens change.
    changes: watch::Receiver<()>,
    next_look: Instant,
}

impl Engine {
    /// Follows a key that [`Engine::authenticate`] took.
    pub fn standing(&self, key: &str) -> Standing {
        // The first look is due at once: the key may have ended since.
        Standing {
            engine: self.clone(),
            key: key.to_owned(),
            changes: self.0.cache.caller_changes(),
            next_look: Instant::now(),
        }
    }
}

impl Standing {
    /// Whether the key is taken still. Nothing is looked up where nothing has changed for some
    /// seconds.
    pub async fn holds(&mut self) -> bool {
        let changed = self.changes.has_changed().unwrap_or(true);
        if !changed && Instant::now() < self.next_look {
            return true;
        }
        // Before the look-up, so that a change meanwhile calls for another.
        self.changes.mark_unchanged();
        self.next_look = Instant::now() + LOOK_EVERY;
        match self.engine.authenticate(&self.key, None).await {
            Ok(_) => true,
            Err(EngineError::Unauthorized) => false,
            // A database that cannot be asked revokes nothing: it is asked again.
            Err(_) => true,
        }
    }

    /// Waits until the key is to be looked at again.
    pub async fn stirs(&mut self) {
        if let Ok(Err(_)) = timeout_at(self.next_look, self.changes.changed()).await {
            // Nothing tells of changes any more: then the time does.
            tokio::time::sleep_until(self.next_look).await;
        }
        // `changed` has seen the change, and `holds` must.
        self.next_look = Instant::now();
    }
}
