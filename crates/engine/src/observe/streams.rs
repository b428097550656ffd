//! Live streams of events and logs, for SSE. What readers have not taken yet is bounded in number
//! and in bytes: a reader that lags gets the number of items that it missed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::event::Event;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::run::LogLine;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Items that a slow reader may lag behind.
const BACKLOG: usize = 1024;
/// Bytes of the items that readers of one organization have not taken yet. Beyond that the oldest
/// of its fullest stream goes first.
const BACKLOG_BYTES: usize = 32 << 20;
/// Bytes that an item takes beside its texts.
const ITEM_BYTES: usize = 256;

/// What a stream carries.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// A settled event.
    Event(Arc<Event>),
    /// A line of a run's output.
    Log(RunId, LogLine),
    /// A step of a run began; or ended, with its exports as JSON text.
    Step(RunId, String, Option<Arc<StepEnd>>),
    /// A run's state changed: it paused, or is over.
    Run(RunId),
    /// What happened on other servers from then on may not have come: what is stored has to be
    /// read.
    Missed(Timestamp),
}

impl StreamItem {
    /// Memory that it takes, about.
    fn bytes(&self) -> usize {
        let texts = match self {
            Self::Event(event) => event.payload.len() + event.metadata.len(),
            Self::Log(_, line) => line.text.len(),
            Self::Step(_, _, end) => end.as_ref().map_or(0, |end| end.exports.len()),
            Self::Run(_) | Self::Missed(_) => 0,
        };
        ITEM_BYTES + texts
    }
}

/// The end of a step.
#[derive(Clone, Debug)]
pub struct StepEnd {
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Its exports, JSON text of an object.
    pub exports: String,
}

/// Items that a reader was too slow for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged(pub u64);

/// Streams by the owner, or by the organization, that they are of.
#[derive(Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<Rings>>);

#[derive(Default)]
struct Rings {
    by_owner: HashMap<String, Ring>,
    /// Bytes of items in all rings of an organization.
    bytes: HashMap<OrgId, usize>,
    newest_reader: u64,
}

/// Items of one stream that some of its readers have not taken yet.
struct Ring {
    org: OrgId,
    items: VecDeque<StreamItem>,
    bytes: usize,
    /// The number of the oldest item.
    first: u64,
    /// The number of the item that each reader takes next.
    readers: HashMap<u64, u64>,
    sent: Arc<Notify>,
}

impl Ring {
    /// Drops the oldest item; its bytes.
    fn drop_oldest(&mut self) -> usize {
        let Some(item) = self.items.pop_front() else { return 0 };
        self.first += 1;
        self.bytes -= item.bytes();
        item.bytes()
    }

    /// Drops the items that all readers have taken; their bytes.
    fn drop_taken(&mut self) -> usize {
        let needed = self.readers.values().copied().min().unwrap_or(u64::MAX);
        let mut dropped = 0;
        while self.first < needed && !self.items.is_empty() {
            dropped += self.drop_oldest();
        }
        dropped
    }
}

impl Rings {
    fn give_back(&mut self, org: &OrgId, bytes: usize) {
        if let Some(held) = self.bytes.get_mut(org) {
            *held = held.saturating_sub(bytes);
            if *held == 0 {
                self.bytes.remove(org);
            }
        }
    }

    fn send(&mut self, owner: &str, item: StreamItem) {
        let Some(ring) = self.by_owner.get_mut(owner) else { return };
        let mut dropped = if ring.items.len() >= BACKLOG { ring.drop_oldest() } else { 0 };
        let (org, bytes) = (ring.org.clone(), item.bytes());
        ring.bytes += bytes;
        ring.items.push_back(item);
        ring.sent.notify_waiters();
        let mut held = self.bytes.get(&org).copied().unwrap_or(0) + bytes - dropped;
        while held > BACKLOG_BYTES {
            let of_org = self.by_owner.values_mut().filter(|ring| ring.org == org);
            let Some(fullest) = of_org.max_by_key(|ring| ring.bytes) else { break };
            dropped = fullest.drop_oldest();
            held -= dropped;
        }
        if held == 0 {
            self.bytes.remove(&org);
        } else {
            self.bytes.insert(org, held);
        }
    }
}

impl Streams {
    pub(crate) fn subscribe(&self, org: &OrgId, owner: &str) -> StreamReader {
        let mut rings = self.0.lock();
        rings.newest_reader += 1;
        let reader = rings.newest_reader;
        let ring = rings.by_owner.entry(owner.to_owned()).or_insert_with(|| Ring {
            org: org.clone(),
            items: VecDeque::new(),
            bytes: 0,
            first: 0,
            readers: HashMap::new(),
            sent: Arc::default(),
        });
        ring.readers.insert(reader, ring.first + ring.items.len() as u64);
        let sent = ring.sent.clone();
        StreamReader { streams: self.clone(), owner: owner.to_owned(), reader, sent }
    }

    /// Owners whose streams somebody reads.
    pub(crate) fn read(&self) -> Vec<String> {
        self.0.lock().by_owner.keys().cloned().collect()
    }

    /// Whether somebody reads the stream of an owner.
    pub(crate) fn has_readers(&self, owner: &str) -> bool {
        self.0.lock().by_owner.contains_key(owner)
    }

    /// All streams may have missed what happened on other servers since then.
    pub(crate) fn missed(&self, since: Timestamp) {
        let mut rings = self.0.lock();
        for owner in rings.by_owner.keys().cloned().collect::<Vec<_>>() {
            rings.send(&owner, StreamItem::Missed(since));
        }
    }

    pub(crate) fn send(&self, owner: &str, item: impl FnOnce() -> StreamItem) {
        let mut rings = self.0.lock();
        if rings.by_owner.contains_key(owner) {
            rings.send(owner, item());
        }
    }
}

/// Reader of a stream, from when it was opened.
pub struct StreamReader {
    streams: Streams,
    owner: String,
    reader: u64,
    sent: Arc<Notify>,
}

impl StreamReader {
    /// The next item, once it is there. Cancelled, it takes none.
    ///
    /// # Errors
    /// With the number of items that this reader was too slow for; the next one follows.
    pub async fn recv(&mut self) -> Result<StreamItem, Lagged> {
        loop {
            let sent = self.sent.clone();
            let mut sent = std::pin::pin!(sent.notified());
            // From here on, no item is sent unseen.
            sent.as_mut().enable();
            if let Some(taken) = self.take() {
                return taken;
            }
            sent.await;
        }
    }

    fn take(&self) -> Option<Result<StreamItem, Lagged>> {
        let mut rings = self.streams.0.lock();
        let ring = rings.by_owner.get_mut(&self.owner)?;
        let first = ring.first;
        let next = ring.readers.get_mut(&self.reader)?;
        if let Some(missed) = first.checked_sub(*next).filter(|missed| *missed > 0) {
            *next = first;
            return Some(Err(Lagged(missed)));
        }
        let at = usize::try_from(*next - first).ok()?;
        let item = ring.items.get(at)?.clone();
        *next += 1;
        if at == 0 {
            let (dropped, org) = (ring.drop_taken(), ring.org.clone());
            rings.give_back(&org, dropped);
        }
        Some(Ok(item))
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut rings = self.streams.0.lock();
        let Some(ring) = rings.by_owner.get_mut(&self.owner) else { return };
        ring.readers.remove(&self.reader);
        let (dropped, org) = (ring.drop_taken(), ring.org.clone());
        if ring.readers.is_empty() {
            rings.by_owner.remove(&self.owner);
        }
        rings.give_back(&org, dropped);
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::run::LogLevel;

    use super::*;

    fn line(text: String) -> StreamItem {
        let run = "run_1".parse().expect("an id");
        let at = Timestamp(0);
        StreamItem::Log(run, LogLine { at, level: LogLevel::Log, text, step: None })
    }

    fn org(n: u8) -> OrgId {
        format!("o_{n}").parse().expect("an id")
    }

    /// What a reader takes without waiting: texts, and how many items it was too slow for.
    fn taken(reader: &StreamReader) -> (Vec<String>, u64) {
        let (mut texts, mut lagged) = (Vec::new(), 0);
        while let Some(item) = reader.take() {
            match item {
                Ok(StreamItem::Log(_, line)) => texts.push(line.text.chars().take(8).collect()),
                Ok(other) => panic!("{other:?}"),
                Err(Lagged(missed)) => lagged += missed,
            }
        }
        (texts, lagged)
    }

    #[test]
    fn each_reader_gets_what_was_sent_since_it_came_and_nothing_is_held_that_all_have() {
        let streams = Streams::default();
        streams.send("p_1", || panic!("nobody reads"));
        let first = streams.subscribe(&org(1), "p_1");
        streams.send("p_1", || line("a".into()));
        let second = streams.subscribe(&org(1), "p_1");
        streams.send("p_1", || line("b".into()));
        assert_eq!(taken(&first).0, ["a", "b"]);
        assert_eq!(streams.0.lock().by_owner["p_1"].items.len(), 1);
        assert_eq!(taken(&second), (vec!["b".to_owned()], 0));
        assert!(streams.0.lock().by_owner["p_1"].items.is_empty());
        streams.send("p_1", || line("c".into()));
        drop((first, second));
        let rings = streams.0.lock();
        assert!(rings.by_owner.is_empty() && rings.bytes.is_empty());
    }

    #[test]
    fn a_slow_reader_lags_by_number_and_by_bytes() {
        let streams = Streams::default();
        let reader = streams.subscribe(&org(1), "p_1");
        for _ in 0..BACKLOG + 3 {
            streams.send("p_1", || line("x".into()));
        }
        let (texts, lagged) = taken(&reader);
        assert_eq!((texts.len(), lagged), (BACKLOG, 3));
        for n in 0..10 {
            streams.send("p_1", || line(format!("{n}{}", "x".repeat(5 << 20))));
        }
        let (texts, lagged) = taken(&reader);
        assert_eq!((texts.len(), lagged), (6, 4));
        assert!(texts[0].starts_with('4') && texts[5].starts_with('9'));
        // Larger than all that is held: its readers learn that there was something.
        streams.send("p_1", || line("x".repeat(BACKLOG_BYTES)));
        assert_eq!(taken(&reader), (Vec::new(), 1));
        assert!(streams.0.lock().bytes.is_empty());
    }

    #[test]
    fn an_organization_s_streams_share_its_bytes_and_no_other_s() {
        let streams = Streams::default();
        let names: Vec<String> = (0..20).map(|n| format!("p_{n}")).collect();
        let slow: Vec<_> = names.iter().map(|name| streams.subscribe(&org(1), name)).collect();
        let foreign = streams.subscribe(&org(2), "p_foreign");
        streams.send("p_foreign", || line("kept".into()));
        for name in &names {
            for _ in 0..10 {
                streams.send(name, || line("x".repeat(1 << 20)));
            }
        }
        let held: usize = streams.0.lock().by_owner.values().map(|ring| ring.bytes).sum();
        assert!(held <= BACKLOG_BYTES + (1 << 10), "{held}");
        let got: Vec<_> = slow.iter().map(taken).collect();
        assert!(got.iter().all(|(texts, lagged)| texts.len() as u64 + lagged == 10), "{got:?}");
        assert!(got.iter().all(|(texts, _)| !texts.is_empty()), "{got:?}");
        assert_eq!(taken(&foreign).0, ["kept"]);
    }

    #[tokio::test]
    async fn a_reader_waits_for_the_next_item() {
        let streams = Streams::default();
        let mut reader = streams.subscribe(&org(1), "p_1");
        let send = async { streams.send("p_1", || line("came".into())) };
        let (item, ()) = tokio::join!(reader.recv(), send);
        assert!(matches!(item, Ok(StreamItem::Log(_, line)) if line.text == "came"));
    }
}
