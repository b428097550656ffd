//! Key watch: checks an API key repeatedly while an answer to it is streamed.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::ids::OrgId;
use millrace_model::tenant::Scopes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::EngineError;
use crate::tenants::keys::Keys;

/// How often a key is looked at though nothing was heard of it: it may end, or another server may
/// have revoked it unheard.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A key by which a stream was opened that still goes on.
pub struct KeyWatch {
    keys: Arc<Keys>,
    key: String,
    /// Organization and scopes of the caller that opened the stream.
    opened_by: (OrgId, Scopes),
    /// Notifies of every change of keys and tokens.
    changes: watch::Receiver<()>,
    next_look: Instant,
}

impl KeyWatch {
    pub(super) fn new(
        keys: Arc<Keys>,
        key: &str,
        opened_by: (OrgId, Scopes),
        changes: watch::Receiver<()>,
    ) -> Self {
        // The first look is due at once: the key may have ended since.
        Self { keys, key: key.to_owned(), opened_by, changes, next_look: Instant::now() }
    }

    /// Whether the key is still valid, and may do what it might when the stream was opened: frames
    /// are made for those scopes. Nothing is looked up where nothing has changed for some
    /// seconds.
    pub async fn is_valid(&mut self) -> bool {
        let changed = self.changes.has_changed().unwrap_or(true);
        if !changed && Instant::now() < self.next_look {
            return true;
        }
        // Before the look-up, so that a change meanwhile calls for another.
        self.changes.mark_unchanged();
        self.next_look = Instant::now() + LOOK_EVERY;
        match self.keys.authenticate(&self.key, None).await {
            Ok(caller) => (caller.org_id, caller.scopes) == self.opened_by,
            Err(EngineError::Unauthorized) => false,
            // A database that cannot be asked revokes nothing: it is asked again.
            Err(_) => true,
        }
    }

    /// Waits until the key is to be checked again.
    pub async fn changed(&mut self) {
        if let Ok(Err(_)) = timeout_at(self.next_look, self.changes.changed()).await {
            // Nothing tells of changes any more: then the time does.
            tokio::time::sleep_until(self.next_look).await;
        }
        // `changed` has seen the change, and `is_valid` must.
        self.next_look = Instant::now();
    }
}
