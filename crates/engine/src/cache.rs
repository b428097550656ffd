//! Cache of records that the hot path would otherwise read for each event. A change made through
//! this process invalidates at once, a change of another server when its notification arrives;
//! while the listener is down, the cache is bypassed.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millrace_model::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::source::HttpInterface;
use millrace_model::tenant::Caller;
use parking_lot::RwLock;
use tokio::sync::watch;

/// Entries of each kind before a part is emptied.
const ENTRIES_MAX: usize = 20_000;
/// How long records are used after the last instant up to which all notifications had arrived:
/// the longest that an earlier version runs after another server acknowledged a later one.
const STALE_MAX: Duration = Duration::from_secs(3);

/// When something was looked up: what was read before a change is not kept after it.
#[derive(Clone, Copy)]
pub(crate) struct Generation(u64);

/// Organization, emitter and event name.
pub(crate) type StreamKey = (OrgId, String, String);

/// Instant before which all notifications of other servers have arrived.
#[derive(Clone, Copy, Default)]
enum Complete {
    /// The listener is down.
    #[default]
    Never,
    /// All before that instant.
    Until(Instant),
    /// There are none: no other server uses the database.
    Always,
}

/// Says whether cached records may be used, and numbers the changes.
#[derive(Default)]
struct Coherence {
    generation: AtomicU64,
    complete: RwLock<Complete>,
}

/// Cached records of one kind, by key.
pub(crate) struct Records<K, V> {
    coherence: Arc<Coherence>,
    entries: RwLock<HashMap<K, V>>,
}

/// The caches of the engine, but for those of types that a room of it has for itself
/// ([`Cache::records`]).
pub(crate) struct Cache {
    coherence: Arc<Coherence>,
    /// Callers by the hash of a key or token, with the time of the look-up.
    pub(crate) callers: Records<String, (Timestamp, Caller)>,
    /// Notified when callers are invalidated.
    caller_changes: watch::Sender<()>,
    pub(crate) endpoints: Records<String, Arc<HttpInterface>>,
    pub(crate) listeners: Records<StreamKey, Arc<Vec<String>>>,
}

/// Whether a cached record may be used: this server received all changes before `complete`, less
/// than [`STALE_MAX`] before `now`.
fn is_current_at(complete: Instant, now: Instant) -> bool {
    now.saturating_duration_since(complete) < STALE_MAX
}

impl Coherence {
    /// What is being read from the store meanwhile is not cached.
    fn change(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    fn is_current(&self) -> bool {
        match *self.complete.read() {
            Complete::Never => false,
            Complete::Until(at) => is_current_at(at, Instant::now()),
            Complete::Always => true,
        }
    }
}

impl<K: Hash + Eq, V: Clone> Records<K, V> {
    fn new(coherence: &Arc<Coherence>) -> Self {
        Self { coherence: coherence.clone(), entries: RwLock::default() }
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.read().get(key).filter(|_| self.coherence.is_current()).cloned()
    }

    /// All that are kept, current or not.
    pub(crate) fn all(&self) -> Vec<V> {
        self.entries.read().values().cloned().collect()
    }

    /// Keeps a record, unless something changed since it was read.
    pub(crate) fn put(&self, read_at: Generation, key: K, record: V) {
        let mut entries = self.entries.write();
        if self.coherence.generation.load(Ordering::SeqCst) != read_at.0 {
            return;
        }
        if entries.len() >= ENTRIES_MAX {
            entries.clear();
        }
        entries.insert(key, record);
    }

    /// Records that fit may have changed.
    pub(crate) fn forget_where(&self, fits: impl Fn(&V) -> bool) {
        self.coherence.change();
        self.entries.write().retain(|_, record| !fits(record));
    }

    /// Any record may have changed.
    pub(crate) fn forget_all(&self) {
        self.coherence.change();
        self.entries.write().clear();
    }
}

impl Default for Cache {
    fn default() -> Self {
        let coherence = Arc::default();
        Self {
            callers: Records::new(&coherence),
            caller_changes: watch::Sender::default(),
            endpoints: Records::new(&coherence),
            listeners: Records::new(&coherence),
            coherence,
        }
    }
}

impl Cache {
    /// A further kind of records, which are used and invalidated as these are.
    pub(crate) fn records<K: Hash + Eq, V: Clone>(&self) -> Records<K, V> {
        Records::new(&self.coherence)
    }

    /// No other server uses the database.
    pub(crate) fn has_no_others(&self) {
        *self.coherence.complete.write() = Complete::Always;
    }

    /// All notifications of changes before an instant have arrived.
    pub(crate) fn complete_until(&self, at: Instant) {
        *self.coherence.complete.write() = Complete::Until(at);
    }

    /// The listener is down.
    pub(crate) fn listener_is_down(&self) {
        *self.coherence.complete.write() = Complete::Never;
    }

    /// Whether cached records may be used.
    pub(crate) fn is_current(&self) -> bool {
        self.coherence.is_current()
    }

    /// Taken before reading from the store what is then put here.
    pub(crate) fn generation(&self) -> Generation {
        Generation(self.coherence.generation.load(Ordering::SeqCst))
    }

    /// The caller of the key or token with that hash, if it was looked up after `since`.
    pub(crate) fn caller(&self, hash: &str, since: Timestamp) -> Option<Caller> {
        self.callers.get(hash).filter(|(at, _)| *at > since).map(|(_, caller)| caller)
    }

    pub(crate) fn forget_callers(&self) {
        self.callers.forget_all();
        self.caller_changes.send_replace(());
    }

    /// Notifies of every change of keys and tokens.
    pub(crate) fn caller_changes(&self) -> watch::Receiver<()> {
        self.caller_changes.subscribe()
    }

    /// A source or workflow changed: its endpoints and everyone's listeners are read anew.
    pub(crate) fn forget_owner(&self, owner: &str) {
        self.coherence.change();
        self.endpoints.entries.write().retain(|_, e| e.owner.as_str() != owner);
        self.listeners.forget_all();
    }

    /// Anything may have changed.
    pub(crate) fn forget_all(&self) {
        self.forget_callers();
        self.endpoints.forget_all();
        self.listeners.forget_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_current_for_less_than_three_seconds_after_the_last_complete_instant() {
        let complete = Instant::now();
        let after = |ms| is_current_at(complete, complete + Duration::from_millis(ms));
        assert_eq!(
            [after(0), after(2_999), after(3_000), after(60_000)],
            [true, true, false, false]
        );
    }

    #[test]
    fn records_are_current_while_notifications_arrive() {
        let (cache, key) =
            (Cache::default(), (OrgId::from_row("o_a".into()), "dc_a".to_owned(), String::new()));
        cache.listeners.put(cache.generation(), key.clone(), Arc::default());
        assert!(cache.listeners.get(&key).is_none(), "no notification has arrived yet");
        cache.complete_until(Instant::now());
        assert!(cache.listeners.get(&key).is_some());
        if let Some(long_ago) = Instant::now().checked_sub(STALE_MAX) {
            cache.complete_until(long_ago);
            assert!(cache.listeners.get(&key).is_none());
        }
        cache.has_no_others();
        assert!(cache.listeners.get(&key).is_some());
        let read_at = cache.generation();
        cache.forget_all();
        cache.listeners.put(read_at, key.clone(), Arc::default());
        assert!(cache.listeners.get(&key).is_none(), "read before the change");
    }
}
