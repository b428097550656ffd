//! The order of writes to a source's `$.service.db` (invariant 3): its runs share a map while they run, and settle in any order. A write that
//! settles after a later one to the same key is left out, once that one is stored: where that one fails, who wrote before it runs again with it. A
//! new host begins only once what ran before it has settled: else the stored map would go back behind what was emitted. Another server that
//! settles writes has a map of its own: the one here is behind then, and the next run begins in a new host. What a run did with a map that was behind
//! does not settle: the store says so, and the run goes again; nor does what went on from a write that could not be stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use millrace_model::ids::SourceId;
use millrace_store::{MapFate, SourceWrites};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

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
    /// Told when a run left, came further, or its writes were decided on.
    left: Notify,
    /// What the maps have that are here.
    maps: Mutex<HashMap<SourceId, Map>>,
}

/// What the map of a source has of the settlements that wrote: those when it was read and those of this server since.
#[derive(Clone)]
struct Map {
    /// Of all of them; none where it is known to be behind, and has yet to be read anew.
    all: Option<i64>,
    /// Of those with a seat.
    seated: i64,
    /// When the first map was read that no other server has written to since.
    since: u64,
    fate: MapFate,
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
    /// What became of the writes to each key, as long as an earlier one may follow.
    keys: HashMap<String, Key>,
    /// Those that ended in a host and have yet to settle, in the order in which they ended; with whom to tell once one comes first.
    line: BTreeMap<u64, Option<oneshot::Sender<()>>>,
}

/// Writes to one key, by when they were made.
#[derive(Default)]
struct Key {
    /// The last that is stored.
    stored: Option<u64>,
    /// On their way to the store.
    under_way: BTreeSet<u64>,
    /// The last that failed: it may be stored or not.
    failed: Option<u64>,
}

/// Whether a run may settle, as far as its writes go.
pub(crate) enum Standing {
    Settles(Settling),
    /// A later write to one of its keys is on its way; what becomes of it decides.
    Waits,
    /// It is not known whether a later write to one of its keys is stored: neither with its own nor without would the map agree with what was emitted.
    Lost,
    /// It is known that another server wrote since the map was read that the run had, or that a write to it failed.
    Behind,
}

/// Writes on their way to the store. Where nothing is said of them until this is dropped, they failed.
pub(crate) struct Settling {
    writes: Arc<Writes>,
    source: SourceId,
    /// Keys, and when they were written.
    all: Vec<(String, u64)>,
    counted: Vec<(String, Option<String>)>,
    /// Of the settlements that write to the map: this one, or none.
    written: i64,
    /// The map that the run had, where that is looked at.
    map: Option<Map>,
    /// Of the map that it goes on from; none where it is part of what is stored.
    fate: Option<MapFate>,
    is_open: bool,
}

impl Settling {
    /// Those that no later write to the same key has settled before.
    pub(crate) fn take_counted(&mut self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.counted)
    }

    /// How many settlements with a seat the run's map has, where that is looked at.
    pub(crate) fn seated(&self) -> Option<i64> {
        self.map.as_ref().map(|map| map.seated)
    }

    pub(crate) fn fate(&self) -> Option<MapFate> {
        self.fate.clone()
    }

    /// They are stored.
    pub(crate) fn stored(mut self) {
        self.end(|key, at| key.stored = key.stored.max(Some(at)));
    }

    /// They are not stored, for certain, and are decided on anew.
    pub(crate) fn taken_back(mut self) {
        self.writes.settlement(&self.source, self.map.as_ref(), -self.written);
        self.end(|_, _| {});
    }

    fn end(&mut self, tell: impl Fn(&mut Key, u64)) {
        self.is_open = false;
        {
            let mut sources = self.writes.sources.lock();
            let Some(source) = sources.get_mut(&self.source) else { return };
            for (key, at) in &self.all {
                if let Some(key) = source.keys.get_mut(key) {
                    key.under_way.remove(at);
                    tell(key, *at);
                }
            }
            source.tidy();
        }
        self.writes.left.notify_waiters();
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        if self.is_open {
            if let Some(fate) = &self.fate {
                fate.breaks();
            }
            self.writes.settlement(&self.source, self.map.as_ref(), -self.written);
            self.end(|key, at| key.failed = key.failed.max(Some(at)));
        }
    }
}

impl Source {
    /// Forgets keys that no run under way can have written to before.
    fn tidy(&mut self) {
        if self.keys.len() > KEYS_KEPT {
            let earliest = self.runs.first_key_value().map_or(u64::MAX, |(began, _)| *began);
            self.keys.retain(|_, key| !key.under_way.is_empty() || key.stored.max(key.failed).is_some_and(|at| at >= earliest));
        }
    }
}

/// A run of a source under way, which uses its map until this is dropped.
pub(crate) struct Visit {
    writes: Arc<Writes>,
    source: SourceId,
    began: u64,
    /// Whether this server had the source's seat when it began.
    is_seated: bool,
    /// [`Map::since`] of its host's map, and its fate.
    map: Mutex<Option<(u64, MapFate)>>,
    /// Its place in the line of those that ended.
    place: OnceLock<u64>,
}

impl Visit {
    /// A host is given the run.
    pub(crate) fn given(&self) {
        *self.map.lock() = self.writes.maps.lock().get(&self.source).map(|map| (map.since, map.fate.clone()));
        self.reaches(Stage::Given);
    }

    /// The host did not take it.
    pub(crate) fn taken_back(&self) {
        *self.map.lock() = None;
        self.reaches(Stage::Entered);
    }

    /// The run has ended in its host: it stands in line to settle.
    pub(crate) fn ended(&self) {
        self.reaches(Stage::Ended);
    }

    /// Waits until none is in line that ended before.
    pub(crate) async fn comes_first(&self) {
        let told = {
            let mut sources = self.writes.sources.lock();
            let line = sources.get_mut(&self.source).map(|source| &mut source.line);
            let (Some(line), Some(place)) = (line, self.place.get()) else { return };
            if line.first_key_value().is_none_or(|(first, _)| first >= place) {
                return;
            }
            let Some(waiting) = line.get_mut(place) else { return };
            let (tell, told) = oneshot::channel();
            *waiting = Some(tell);
            told
        };
        // It is told, or nobody is left who could.
        let _ = told.await;
    }

    /// Lets the next one come first.
    pub(crate) fn leave_line(&self) {
        if let Some(source) = self.writes.sources.lock().get_mut(&self.source) {
            self.leave_line_of(source);
        }
    }

    fn leave_line_of(&self, source: &mut Source) {
        if self.place.get().is_some_and(|place| source.line.remove(place).is_some())
            && let Some(mut first) = source.line.first_entry()
            && let Some(tell) = first.get_mut().take()
        {
            // It may have given up.
            let _ = tell.send(());
        }
    }

    fn reaches(&self, stage: Stage) {
        if let Some(source) = self.writes.sources.lock().get_mut(&self.source)
            && let Some(run) = source.runs.get_mut(&self.began)
        {
            // One that never came to a host wrote nothing.
            if stage == Stage::Given || *run == Stage::Given {
                *run = stage;
                if stage == Stage::Ended {
                    source.line.insert(*self.place.get_or_init(|| self.writes.next()), None);
                }
            }
        }
        if stage == Stage::Entered {
            self.writes.left.notify_waiters();
        }
    }

    /// What it wrote will not be stored: it goes again.
    pub(crate) fn breaks_map(&self) {
        if let Some((_, fate)) = &*self.map.lock() {
            fate.breaks();
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
            self.leave_line_of(source);
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

    /// A run of the source begins; `is_seated`: whether others are to leave its map alone until it has settled.
    pub(crate) fn enter(self: &Arc<Self>, source: &SourceId, is_seated: bool) -> Arc<Visit> {
        let mut sources = self.sources.lock();
        let began = self.next();
        sources.entry(source.clone()).or_default().runs.insert(began, Stage::Entered);
        Arc::new(Visit { writes: self.clone(), source: source.clone(), began, is_seated, map: Mutex::default(), place: OnceLock::new() })
    }

    /// A host's map begins with what so many settlements left.
    pub(crate) fn read(&self, source: &SourceId, settlements: SourceWrites) {
        let mut maps = self.maps.lock();
        // Where nobody else had the seat meanwhile, runs in the host before this one settle as well.
        let before = maps.get(source).filter(|map| map.seated == settlements.seated && !map.fate.is_broken()).map(|map| (map.since, map.fate.clone()));
        let (since, fate) = before.unwrap_or_else(|| (self.next(), MapFate::default()));
        maps.insert(source.clone(), Map { all: Some(settlements.all), seated: settlements.seated, since, fate });
    }

    /// A settlement of this server writes to the map, in which the run's own was looked at or not; or, with `-1`, did not after all.
    fn settlement(&self, source: &SourceId, of: Option<&Map>, count: i64) {
        if let Some(map) = self.maps.lock().get_mut(source) {
            map.all = map.all.map(|all| all + count);
            if of.is_some_and(|of| of.since == map.since) {
                map.seated += count;
            }
        }
    }

    /// The map that a run had, where that is looked at: `Err` where another took its place that another server wrote to.
    fn map_of(&self, visit: &Visit) -> Result<Option<Map>, ()> {
        let Some(since) = visit.map.lock().as_ref().map(|(since, _)| *since).filter(|_| visit.is_seated) else { return Ok(None) };
        self.maps.lock().get(&visit.source).filter(|map| map.since == since).map(|map| Some(map.clone())).ok_or(())
    }

    /// Whether a map here lacks one of so many settlements. Then it is not asked again until a new one is read.
    pub(crate) fn is_behind(&self, source: &SourceId, settlements: SourceWrites) -> bool {
        let mut maps = self.maps.lock();
        let behind = maps.get_mut(source).filter(|map| map.all.is_some_and(|all| all < settlements.all));
        behind.map(|map| map.all = None).is_some()
    }

    /// The source is gone.
    pub(crate) fn forget(&self, source: &SourceId) {
        self.maps.lock().remove(source);
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
        self.until(source, |of_source| !of_source.runs.values().any(|stage| stages.contains(stage))).await;
    }

    /// Waits until it holds for the source, or nothing of it is under way.
    async fn until(&self, source: &SourceId, holds: impl Fn(&Source) -> bool) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            // Before the look, so that what happens after it is heard.
            left.as_mut().enable();
            if self.sources.lock().get(source).is_none_or(&holds) {
                return;
            }
            left.await;
        }
    }

    /// Decides on a run's writes, after all that were decided on before.
    pub(crate) fn settle(self: &Arc<Self>, source: &SourceId, writes: &[DbWrite], visit: Option<&Visit>) -> Standing {
        let Ok(map) = visit.map_or(Ok(None), |visit| self.map_of(visit)) else { return Standing::Behind };
        let (all, counted) = (Vec::new(), Vec::new());
        let fate = visit.and_then(|visit| visit.map.lock().as_ref().map(|(_, fate)| fate.clone()));
        let is_broken = fate.as_ref().is_some_and(MapFate::is_broken);
        let mut settling = Settling { writes: self.clone(), source: source.clone(), all, counted, written: 0, map, fate, is_open: false };
        let mut sources = self.sources.lock();
        let Some(of_source) = sources.get_mut(source).filter(|_| !writes.is_empty()) else {
            return if is_broken { Standing::Behind } else { Standing::Settles(settling) };
        };
        let mut waits = false;
        for write in writes {
            let key = of_source.keys.get(&write.key);
            let is_later = |at: Option<u64>| at.is_some_and(|at| at > write.at);
            if key.is_some_and(|key| is_later(key.stored)) {
                continue;
            }
            if is_broken {
                return Standing::Behind;
            }
            if key.is_some_and(|key| is_later(key.failed)) {
                return Standing::Lost;
            }
            waits |= key.is_some_and(|key| is_later(key.under_way.last().copied()));
            settling.counted.push((write.key.clone(), write.value.clone()));
        }
        if waits {
            return Standing::Waits;
        }
        if settling.counted.is_empty() {
            // What overtook them went on from them, and is stored: whatever came after that, they are part of it.
            (settling.map, settling.fate) = (None, None);
        }
        for write in writes {
            of_source.keys.entry(write.key.clone()).or_default().under_way.insert(write.at);
            settling.all.push((write.key.clone(), write.at));
        }
        drop(sources);
        settling.is_open = true;
        settling.written = i64::from(!settling.counted.is_empty());
        self.settlement(source, settling.map.as_ref(), settling.written);
        Standing::Settles(settling)
    }

    /// Waits until it can be said anew how writes stand that wait.
    pub(crate) async fn decided(&self, source: &SourceId, writes: &[DbWrite]) {
        self.until(source, |of_source| {
            let waits = |write: &DbWrite| of_source.keys.get(&write.key).is_some_and(|key| key.under_way.last().is_some_and(|at| *at > write.at));
            !writes.iter().any(waits)
        })
        .await;
    }
}

#[cfg(test)]
mod tests;
