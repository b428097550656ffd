//! Feed of the events of one emitter for one client: the live stream, and the history where the
//! client or the live stream is behind.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures::{Stream, stream};
use millrace_engine::{Engine, EngineError, Lagged, StreamItem, StreamReader};
use millrace_model::event::{Event, EventFilter};
use millrace_model::ids::EventId;
use millrace_model::page::Page;
use millrace_model::subscription::{DEFERRED, ERRORS};
use millrace_model::tenant::Caller;

use crate::v1::position::{OUT_OF_ORDER_MS, Position};

/// Events read at once from the history, for a stream that resumes, where they are small: they wait
/// in memory until its client takes them.
const RESUME_PAGE_MAX: u32 = 16;
/// Beyond so many bytes a page is large: the next has one event.
const RESUME_BYTES: usize = 64 << 10;
/// Ids of sent events that are remembered: more than the live stream holds, so that none is sent
/// twice.
const REMEMBERED_MAX: usize = 4096;

/// One client's stream of events: live, and from the history where the client or the live stream is
/// behind.
pub(crate) struct Feed {
    engine: Engine,
    caller: Caller,
    owner: String,
    /// The channel asked for; none: all.
    name: Option<String>,
    live: StreamReader,
    /// What the client has, or does not ask for.
    position: Position,
    /// The ordinal up to which it asked for nothing.
    begin: i64,
    /// The id after which the history has to be read before the live stream goes on, if it has to.
    behind: Option<EventId>,
    sent: Sent,
    /// Read from the history and not yet sent; at most a page.
    waiting: VecDeque<Arc<Event>>,
    /// How many events the next page has.
    page: u32,
}

/// An item of a [`Feed`].
pub(crate) enum Fed {
    Event(Arc<Event>, Position),
    /// The client was too slow for so many items. Those that the history has after it follow.
    Lag(u64, Position),
}

impl Feed {
    /// Of one channel, or all; `since`: from the history what came after, else from now on.
    pub(crate) async fn open(
        engine: Engine,
        caller: Caller,
        owner: String,
        name: Option<String>,
        since: Option<Position>,
    ) -> Result<Self, EngineError> {
        // Read before the subscription, so that nothing falls between: a client that is too slow
        // before its first event goes on from here.
        let behind = since.as_ref().map(|since| EventId::from_ordinal(since.low()));
        let position = match since {
            Some(since) => since,
            None => newest(&engine, &caller, &owner, name.as_deref()).await?.into(),
        };
        let mut sent = Sent::default();
        for event in position.events_above() {
            sent.insert(event);
        }
        let live = engine.stream(&caller, &owner).await?;
        let begin = position.low();
        Ok(Self {
            engine,
            caller,
            owner,
            name,
            live,
            position,
            begin,
            behind,
            sent,
            waiting: VecDeque::new(),
            page: 1,
        })
    }

    /// Where a client goes on that has what this feed sent so far.
    pub(crate) fn position(&self) -> Position {
        self.position.clone()
    }

    pub(crate) fn items(self) -> impl Stream<Item = Fed> + Send + 'static {
        stream::unfold(self, |mut feed| async move { feed.next().await.map(|item| (item, feed)) })
    }

    async fn next(&mut self) -> Option<Fed> {
        loop {
            while let Some(event) = self.waiting.pop_front() {
                if self.is_new(&event) {
                    return Some(Fed::Event(event, self.position()));
                }
            }
            if let Some(after) = self.behind {
                let events = self.engine.events();
                match events.after(&self.caller, &self.owner, after, self.page).await {
                    Ok(events) => {
                        let bytes: usize = events
                            .iter()
                            .map(|event| event.payload.len() + event.metadata.len())
                            .sum();
                        self.page = if bytes > RESUME_BYTES {
                            1
                        } else {
                            RESUME_PAGE_MAX.min(self.page * 2)
                        };
                        self.behind = events.last().map(|event| event.id);
                        self.waiting = events.into_iter().map(Arc::new).collect();
                        continue;
                    }
                    Err(error) => {
                        // The client connects again and resumes; if its emitter is gone, it then
                        // gets a 404.
                        tracing::warn!(emitter.id = self.owner, %error, "a stream of events ended: its history could not be read");
                        return None;
                    }
                }
            }
            match self.live.recv().await {
                Ok(StreamItem::Event(event)) => {
                    if self.is_new(&event) {
                        return Some(Fed::Event(event, self.position()));
                    }
                }
                Ok(StreamItem::Missed(since)) => {
                    let out_of_order = since.plus_ms(-OUT_OF_ORDER_MS);
                    let after = EventId::ordinal_at(out_of_order).min(self.position.low());
                    self.behind = Some(EventId::from_ordinal(after.max(self.begin)));
                }
                Ok(_) => {}
                Err(Lagged(skipped)) => {
                    self.behind = Some(EventId::from_ordinal(self.position.low()));
                    return Some(Fed::Lag(skipped, self.position()));
                }
            }
        }
    }

    /// Notes the event; whether the client asked for it and does not have it yet. Ids alone cannot
    /// tell by their order: runs that end together may settle in another order than that of their
    /// events' ids.
    fn is_new(&mut self, event: &Event) -> bool {
        let wanted = match &self.name {
            Some(name) => *name == event.name,
            // As in the history: errors and what waits are asked for by name.
            None => ![ERRORS, DEFERRED].contains(&event.name.as_str()),
        };
        let is_new = wanted && self.sent.insert(event.id);
        if is_new {
            self.position.add(event.id);
        }
        is_new
    }
}

/// The id of the newest event of an emitter; that before all where it has none.
async fn newest(
    engine: &Engine,
    caller: &Caller,
    owner: &str,
    name: Option<&str>,
) -> Result<EventId, EngineError> {
    let page = Page { limit: 1, ..Page::default() };
    let newest = engine.events().list(caller, owner, EventFilter::of(name), false, &page).await?;
    Ok(newest.items.first().map_or(EventId::from_ordinal(0), |listed| listed.event.id))
}

/// The ids sent last.
#[derive(Default)]
struct Sent {
    ids: HashSet<EventId>,
    order: VecDeque<EventId>,
}

impl Sent {
    /// Whether it is not among them; it is from now on.
    fn insert(&mut self, id: EventId) -> bool {
        if !self.ids.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_remembered_up_to_a_bound() {
        let id = |seq: usize| EventId { ms: 1, seq: seq as i64 };
        let mut sent = Sent::default();
        assert!(sent.insert(id(2)) && sent.insert(id(1)) && !sent.insert(id(2)));
        for seq in 3..=REMEMBERED_MAX + 2 {
            sent.insert(id(seq));
        }
        assert_eq!((sent.ids.len(), sent.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
        assert!(sent.insert(id(2)));
    }
}
