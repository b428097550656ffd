//! What the hot path would otherwise read for each event. Everything in it can be read again from
//! the store; changes made through this process take effect at once, those of other servers when
//! they are heard. Where these cannot be heard, nothing is believed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millrace_model::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::source::HttpInterface;
use millrace_model::tenant::Caller;
use parking_lot::RwLock;
use tokio::sync::watch;

use crate::run::program::Program;

/// Entries of each kind before a part is emptied.
const ENTRIES_MAX: usize = 20_000;
/// How long what was read is believed after the last time that all changes were heard: no longer
/// may an earlier version run once a later one was acknowledged by another server.
const BELIEVED_MAX: Duration = Duration::from_secs(3);

/// When something was looked up: what was read before a change is not kept after it.
#[derive(Clone, Copy)]
pub(crate) struct Generation(u64);

/// Organization, emitter and event name.
pub(crate) type StreamKey = (OrgId, String, String);

/// Up to when the changes of other servers were heard.
#[derive(Clone, Copy, Default)]
enum Heard {
    /// They cannot be.
    #[default]
    Nothing,
    /// All before that instant.
    UpTo(Instant),
    /// There are none: no other server uses the database.
    All,
}

#[derive(Default)]
pub(crate) struct Cache {
    generation: AtomicU64,
    /// When all changes had been heard; none: they cannot be.
    heard_at: RwLock<Heard>,
    /// With the time of the look-up.
    callers: RwLock<HashMap<String, (Timestamp, Caller)>>,
    /// Told whenever callers are forgotten.
    caller_changes: watch::Sender<()>,
    endpoints: RwLock<HashMap<String, Arc<HttpInterface>>>,
    /// By owner id (live version) and by deployment id.
    programs: RwLock<HashMap<String, Arc<Program>>>,
    listeners: RwLock<HashMap<StreamKey, Arc<Vec<String>>>>,
}

/// Whether a cached record may be used: this server received all changes up to `heard_at`, less
/// than [`BELIEVED_MAX`] before `now`.
fn believed_at(heard_at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(heard_at) < BELIEVED_MAX
}

impl Cache {
    /// No other server uses the database.
    pub(crate) fn has_no_others(&self) {
        *self.heard_at.write() = Heard::All;
    }

    /// All changes before an instant have been heard.
    pub(crate) fn heard_up_to(&self, at: Instant) {
        *self.heard_at.write() = Heard::UpTo(at);
    }

    /// The changes of others cannot be heard any more.
    pub(crate) fn hears_nothing(&self) {
        *self.heard_at.write() = Heard::Nothing;
    }

    /// Whether what others change is heard.
    pub(crate) fn is_believed(&self) -> bool {
        match *self.heard_at.read() {
            Heard::Nothing => false,
            Heard::UpTo(at) => believed_at(at, Instant::now()),
            Heard::All => true,
        }
    }

    /// Taken before reading from the store what is then put here.
    pub(crate) fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::SeqCst))
    }

    fn put<K: std::hash::Hash + Eq, V>(
        &self,
        map: &RwLock<HashMap<K, V>>,
        read_at: Generation,
        key: K,
        value: V,
    ) {
        let mut map = map.write();
        if self.generation.load(Ordering::SeqCst) != read_at.0 {
            return;
        }
        if map.len() >= ENTRIES_MAX {
            map.clear();
        }
        map.insert(key, value);
    }

    /// Who shows the key of that hash, if it was looked up after `since`.
    pub(crate) fn caller(&self, hash: &str, since: Timestamp) -> Option<Caller> {
        self.callers
            .read()
            .get(hash)
            .filter(|(at, _)| *at > since && self.is_believed())
            .map(|(_, caller)| caller.clone())
    }

    pub(crate) fn put_caller(
        &self,
        read_at: Generation,
        hash: String,
        now: Timestamp,
        caller: Caller,
    ) {
        self.put(&self.callers, read_at, hash, (now, caller));
    }

    pub(crate) fn forget_callers(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.callers.write().clear();
        self.caller_changes.send_replace(());
    }

    /// Tells whenever keys or tokens may have changed.
    pub(crate) fn caller_changes(&self) -> watch::Receiver<()> {
        self.caller_changes.subscribe()
    }

    pub(crate) fn endpoint(&self, key: &str) -> Option<Arc<HttpInterface>> {
        self.endpoints.read().get(key).filter(|_| self.is_believed()).cloned()
    }

    pub(crate) fn put_endpoint(&self, read_at: Generation, endpoint: Arc<HttpInterface>) {
        self.put(&self.endpoints, read_at, endpoint.key.clone(), endpoint);
    }

    pub(crate) fn program(&self, id: &str) -> Option<Arc<Program>> {
        self.programs.read().get(id).filter(|_| self.is_believed()).cloned()
    }

    pub(crate) fn put_program(&self, read_at: Generation, id: String, program: Arc<Program>) {
        self.put(&self.programs, read_at, id, program);
    }

    pub(crate) fn listeners(&self, key: &StreamKey) -> Option<Arc<Vec<String>>> {
        self.listeners.read().get(key).filter(|_| self.is_believed()).cloned()
    }

    pub(crate) fn put_listeners(
        &self,
        read_at: Generation,
        key: StreamKey,
        listeners: Arc<Vec<String>>,
    ) {
        self.put(&self.listeners, read_at, key, listeners);
    }

    /// A source or workflow changed: its live version, endpoints and everyone's listeners are read
    /// anew.
    pub(crate) fn forget_owner(&self, owner: &str) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.programs.write().remove(owner);
        self.endpoints.write().retain(|_, e| e.owner.as_str() != owner);
        self.forget_listeners();
    }

    /// Anything may have changed.
    pub(crate) fn forget_all(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.callers.write().clear();
        self.caller_changes.send_replace(());
        self.endpoints.write().clear();
        self.programs.write().clear();
        self.listeners.write().clear();
    }

    pub(crate) fn forget_listeners(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.listeners.write().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_believed_for_less_than_three_seconds_after_all_changes_were_heard() {
        let heard_at = Instant::now();
        let after = |ms| believed_at(heard_at, heard_at + Duration::from_millis(ms));
        assert_eq!(
            [after(0), after(2_999), after(3_000), after(60_000)],
            [true, true, false, false]
        );
    }

    #[test]
    fn what_was_read_is_believed_while_changes_are_heard() {
        let (cache, key) =
            (Cache::default(), (OrgId::from_row("o_a".into()), "dc_a".to_owned(), String::new()));
        cache.put_listeners(cache.generation(), key.clone(), Arc::default());
        assert!(cache.listeners(&key).is_none(), "nothing was heard yet");
        cache.heard_up_to(Instant::now());
        assert!(cache.listeners(&key).is_some());
        if let Some(long_ago) = Instant::now().checked_sub(BELIEVED_MAX) {
            cache.heard_up_to(long_ago);
            assert!(cache.listeners(&key).is_none());
        }
        cache.has_no_others();
        assert!(cache.listeners(&key).is_some());
        let read_at = cache.generation();
        cache.forget_all();
        cache.put_listeners(read_at, key.clone(), Arc::default());
        assert!(cache.listeners(&key).is_none(), "read before the change");
    }
}
