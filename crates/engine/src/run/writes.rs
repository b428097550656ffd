//! The order of writes to a source's `$.service.db` (invariant 3): its runs share a map while they run, and settle in any order. A write that
//! settles after a later one to the same key is left out, and a new host begins only once what ran before it has settled: else the stored map
//! would go back behind what was emitted. Another server that settles writes has a map of its own: the one here is behind then, and the next run
//! begins in a new host.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millrace_model::ids::SourceId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// How long a host that begins waits for runs that go on in an earlier one, which is given up. What ended there and has yet to settle is waited for
/// as long as the disk takes.
const QUIET_MAX: Duration = Duration::from_secs(5);
/// Keys of a source that are remembered before those are looked for that need not be.
const KEYS_KEPT: usize = 256;

/// A write, and when it was made, counted.
#[derive(Clone, Debug)]
pub(crate) struct DbWrite {
    pub(crate) key: String,
    /// JSON text, or none to delete.
    pub(crate) value: Option<String>,
    pub(crate) at: u64,
}

/// What is remembered of sources with runs under way.
#[derive(Default)]
pub(crate) struct Writes {
    count: AtomicU64,
    sources: Mutex<HashMap<SourceId, Source>>,
    left: Notify,
    /// Of sources with a map here: how many settlements it has, those when it was read and those of this server since.
    has: Mutex<HashMap<SourceId, i64>>,
}

/// How far a run under way has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No host has it yet.
    Entered,
    /// It goes on in a host.
    Given,
    /// It has ended there, and has yet to settle.
    Ended,
}

#[derive(Default)]
struct Source {
    /// When each run under way began.
    runs: BTreeMap<u64, Stage>,
    /// The last write of each key that has settled, as long as an earlier one may follow.
    settled: HashMap<String, u64>,
}

/// A run of a source under way, which uses its map until this is dropped.
pub(crate) struct Visit {
    writes: Arc<Writes>,
    source: SourceId,
    began: u64,
}

impl Visit {
    /// A host is given the run.
    pub(crate) fn given(&self) {
        self.reaches(Stage::Given);
    }

    /// The host did not take it.
    pub(crate) fn taken_back(&self) {
        self.reaches(Stage::Entered);
    }

    /// The run has ended in its host.
    pub(crate) fn ended(&self) {
        self.reaches(Stage::Ended);
    }

    fn reaches(&self, stage: Stage) {
        if let Some(run) = self.writes.sources.lock().get_mut(&self.source).and_then(|s| s.runs.get_mut(&self.began)) {
            // One that never came to a host wrote nothing.
            if stage == Stage::Given || *run == Stage::Given {
                *run = stage;
            }
        }
        if stage == Stage::Entered {
            self.writes.left.notify_waiters();
        }
    }

    /// Counts a write.
    pub(crate) fn wrote(&self) -> u64 {
        self.writes.next()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut sources = self.writes.sources.lock();
        if let Some(source) = sources.get_mut(&self.source) {
            source.runs.remove(&self.began);
            if source.runs.is_empty() {
                sources.remove(&self.source);
            }
        }
        self.writes.left.notify_waiters();
    }
}

impl Writes {
    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::SeqCst)
    }

    /// A run of the source begins.
    pub(crate) fn enter(self: &Arc<Self>, source: &SourceId) -> Arc<Visit> {
        let mut sources = self.sources.lock();
        let began = self.next();
        sources.entry(source.clone()).or_default().runs.insert(began, Stage::Entered);
        Arc::new(Visit { writes: self.clone(), source: source.clone(), began })
    }

    /// A host's map begins with what so many settlements left.
    pub(crate) fn read(&self, source: &SourceId, settlements: i64) {
        self.has.lock().insert(source.clone(), settlements);
    }

    /// A settlement of this server writes to the map; or, with `-1`, did not after all.
    pub(crate) fn settlement(&self, source: &SourceId, count: i64) {
        if let Some(has) = self.has.lock().get_mut(source) {
            *has += count;
        }
    }

    /// Whether a map here lacks one of so many settlements. Then it is not asked again until a new one is read.
    pub(crate) fn is_behind(&self, source: &SourceId, settlements: i64) -> bool {
        let mut has = self.has.lock();
        let behind = has.get(source).is_some_and(|has| *has < settlements);
        if behind {
            has.remove(source);
        }
        behind
    }

    /// The source is gone.
    pub(crate) fn forget(&self, source: &SourceId) {
        self.has.lock().remove(source);
    }

    /// Waits until no run of the source is in a host or has yet to settle: those in an earlier host may still write to the map that went with it.
    pub(crate) async fn quiet(&self, source: &SourceId) {
        if tokio::time::timeout(QUIET_MAX, self.none_at(source, &[Stage::Given, Stage::Ended])).await.is_err() {
            tracing::debug!(source.id = %source, "a host begins while runs of an earlier one go on");
            self.ended_settle(source).await;
        }
    }

    /// Waits until what has ended has settled.
    pub(crate) async fn ended_settle(&self, source: &SourceId) {
        self.none_at(source, &[Stage::Ended]).await;
    }

    async fn none_at(&self, source: &SourceId, stages: &[Stage]) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            // Before the look, so that who leaves after it is heard.
            left.as_mut().enable();
            if !self.sources.lock().get(source).is_some_and(|s| s.runs.values().any(|stage| stages.contains(stage))) {
                return;
            }
            left.await;
        }
    }

    /// Those of a run's writes that no later one to the same key has settled before.
    pub(crate) fn not_overtaken(&self, source: &SourceId, writes: &[DbWrite]) -> Vec<(String, Option<String>)> {
        let sources = self.sources.lock();
        let settled = sources.get(source).map(|s| &s.settled);
        let is_last = |write: &&DbWrite| settled.and_then(|keys| keys.get(&write.key)).is_none_or(|last| *last < write.at);
        writes.iter().filter(is_last).map(|write| (write.key.clone(), write.value.clone())).collect()
    }

    /// A run's writes did not settle after all.
    pub(crate) fn taken_back(&self, source: &SourceId, writes: &[DbWrite]) {
        if let Some(source) = self.sources.lock().get_mut(source) {
            source.settled.retain(|key, at| !writes.iter().any(|write| write.key == *key && write.at == *at));
        }
    }

    /// A run's writes settle, before any that is decided on from now on.
    pub(crate) fn settled(&self, source: &SourceId, writes: &[DbWrite]) {
        let mut sources = self.sources.lock();
        let Some(source) = sources.get_mut(source) else { return };
        for write in writes {
            let last = source.settled.entry(write.key.clone()).or_insert(write.at);
            *last = write.at.max(*last);
        }
        if source.settled.len() > KEYS_KEPT {
            let earliest = source.runs.first_key_value().map_or(u64::MAX, |(began, _)| *began);
            source.settled.retain(|_, at| *at >= earliest);
        }
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::IdSource;

    use super::*;

    fn write(visit: &Visit, key: &str) -> DbWrite {
        DbWrite { key: key.into(), value: Some("1".into()), at: visit.wrote() }
    }

    #[test]
    fn a_write_that_was_overtaken_is_left_out() {
        let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
        let (a, b) = (writes.enter(&source), writes.enter(&source));
        let first = [write(&a, "n"), write(&a, "only a")];
        let second = [write(&b, "n")];
        assert_eq!(writes.not_overtaken(&source, &second).len(), 1);
        writes.settled(&source, &second);
        drop(b);
        assert_eq!(writes.not_overtaken(&source, &first), [("only a".into(), Some("1".into()))]);
        writes.taken_back(&source, &second);
        assert_eq!(writes.not_overtaken(&source, &first).len(), 2);
        drop(a);
        assert!(writes.sources.lock().is_empty(), "nothing is remembered of a source that rests");
    }

    #[test]
    fn keys_that_nobody_can_overtake_are_forgotten() {
        let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
        let old = writes.enter(&source);
        let all: Vec<DbWrite> = (0..=KEYS_KEPT).map(|n| write(&old, &n.to_string())).collect();
        writes.settled(&source, &all);
        assert_eq!(writes.sources.lock()[&source].settled.len(), KEYS_KEPT + 1, "the run that wrote them goes on");
        let new = writes.enter(&source);
        drop(old);
        writes.settled(&source, &[write(&new, "new")]);
        assert_eq!(writes.sources.lock()[&source].settled.len(), 1);
    }

    #[test]
    fn a_map_is_behind_once_another_server_wrote() {
        let (writes, source) = (Writes::default(), SourceId::generate(&IdSource::default()));
        assert!(!writes.is_behind(&source, 7), "no host has read it yet");
        writes.read(&source, 7);
        writes.settlement(&source, 1);
        assert!(!writes.is_behind(&source, 8));
        writes.settlement(&source, 1);
        writes.settlement(&source, -1);
        assert!(writes.is_behind(&source, 9));
        assert!(!writes.is_behind(&source, 9), "the next host is on its way");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_goes_on_in_an_earlier_host_is_given_up_and_one_that_has_yet_to_settle_is_not() {
        let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
        let (endless, over) = (writes.enter(&source), writes.enter(&source));
        endless.given();
        over.ended();
        writes.quiet(&source).await;
        over.given();
        over.ended();
        let waits = tokio::spawn({
            let (writes, source) = (writes.clone(), source.clone());
            async move { writes.quiet(&source).await }
        });
        tokio::time::sleep(QUIET_MAX * 100).await;
        assert!(!waits.is_finished(), "the disk is slow");
        drop(over);
        waits.await.expect("ends");
        drop(endless);
    }

    #[tokio::test]
    async fn a_host_begins_once_all_has_settled() {
        let (writes, source) = (Arc::new(Writes::default()), SourceId::generate(&IdSource::default()));
        let (idle, busy) = (writes.enter(&source), writes.enter(&source));
        writes.quiet(&source).await;
        busy.given();
        let waits = tokio::spawn({
            let (writes, source) = (writes.clone(), source.clone());
            async move { writes.quiet(&source).await }
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(busy);
        waits.await.expect("ends");
        drop(idle);
    }
}
