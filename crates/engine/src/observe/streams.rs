//! Live streams of events and logs, for SSE. Buffers are bounded: a reader that lags gets the
//! number of items that it missed.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::event::Event;
use millrace_model::ids::RunId;
use millrace_model::run::LogLine;
use parking_lot::Mutex;
use tokio::sync::broadcast;

/// Items that a slow reader may lag behind.
const BACKLOG: usize = 1024;

/// What a stream carries.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// A settled event.
    Event(Arc<Event>),
    /// A line of a run's output.
    Log(RunId, LogLine),
    /// A step of a run began; or ended, with its exports as JSON text.
    Step(RunId, String, Option<StepEnd>),
    /// A run's state changed: it paused, or is over.
    Run(RunId),
    /// What happened on other servers from then on may not have come: what is stored has to be
    /// read.
    Missed(Timestamp),
}

/// The end of a step.
#[derive(Clone, Debug)]
pub struct StepEnd {
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Its exports, JSON text of an object.
    pub exports: String,
}

#[derive(Default)]
pub(crate) struct Streams(Mutex<HashMap<String, broadcast::Sender<StreamItem>>>);

impl Streams {
    pub(crate) fn subscribe(&self, owner: &str) -> broadcast::Receiver<StreamItem> {
        let mut streams = self.0.lock();
        streams.retain(|_, sender| sender.receiver_count() > 0);
        streams.entry(owner.to_owned()).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe()
    }

    /// Owners whose streams somebody reads.
    pub(crate) fn read(&self) -> Vec<String> {
        self.0
            .lock()
            .iter()
            .filter(|(_, sender)| sender.receiver_count() > 0)
            .map(|(owner, _)| owner.clone())
            .collect()
    }

    /// Whether somebody reads the stream of an owner.
    pub(crate) fn has_readers(&self, owner: &str) -> bool {
        self.0.lock().get(owner).is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// All streams may have missed what happened on other servers since then.
    pub(crate) fn missed(&self, since: Timestamp) {
        for sender in self.0.lock().values() {
            // Nobody listening is no fault.
            let _ = sender.send(StreamItem::Missed(since));
        }
    }

    pub(crate) fn send(&self, owner: &str, item: impl FnOnce() -> StreamItem) {
        if let Some(sender) = self.0.lock().get(owner) {
            // Nobody listening is no fault.
            let _ = sender.send(item());
        }
    }
}
