//! Streams of events and logs.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use millrace_engine::{Engine, KeyWatch, StreamItem};
use millrace_model::event::{Event, EventFilter};
use millrace_model::ids::{EventId, WorkflowId};
use millrace_model::page::Page;
use millrace_model::subscription::{DEFERRED, ERRORS};
use millrace_model::tenant::Caller;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::wrappers::BroadcastStream;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, Lasting, ListQuery, Path, emitter, id};
use crate::v1::events::EmittedEventOut;
use crate::v1::run_records::LogLineOut;

/// Events read at once from the history, for a stream that resumes, where they are small: they wait
/// in memory until its client takes them.
const RESUME_PAGE_MAX: u32 = 16;
/// Beyond so many bytes a page is large: the next has one event.
const RESUME_BYTES: usize = 64 << 10;
/// Ids of sent events that are remembered: more than the live stream holds, so that none is sent
/// twice.
const REMEMBERED_MAX: usize = 4096;

/// What a stream says, until the key that asked for it is taken no more.
pub(crate) fn lasting(
    frames: impl Stream<Item = SseEvent> + Send + 'static,
    key: KeyWatch,
) -> impl Stream<Item = SseEvent> + Send + 'static {
    stream::unfold((Box::pin(frames), key), |(mut frames, mut key)| async move {
        loop {
            if !key.is_valid().await {
                return None;
            }
            tokio::select! {
                // What came after the key's end is not told.
                biased;
                () = key.changed() => {}
                frame = frames.next() => return frame.map(|frame| (frame, (frames, key))),
            }
        }
    })
}

/// Server-sent events, told to proxies as nothing to hold back.
pub(crate) fn respond(frames: impl Stream<Item = SseEvent> + Send + 'static) -> Response {
    respond_with(frames, SseEvent::default().comment("keepalive"))
}

/// The same with a heartbeat of one's own: a comment is nothing that an `EventSource` shows.
pub(crate) fn respond_with(
    frames: impl Stream<Item = SseEvent> + Send + 'static,
    heartbeat: SseEvent,
) -> Response {
    let hello = stream::once(async { SseEvent::default().comment("connected") });
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15)).event(heartbeat);
    let answer = Sse::new(hello.chain(frames).map(Ok::<_, Infallible>)).keep_alive(keep_alive);
    ([(HeaderName::from_static("x-accel-buffering"), "no")], answer).into_response()
}

fn event_frame(event: &Event) -> SseEvent {
    let data = EmittedEventOut::show(event);
    SseEvent::default().id(event.id.to_string()).data(data.to_string())
}

/// What a workflow sent with `$.send.sse`: the channel is the frame's event, the payload its data.
fn send_frame(event: &Event) -> SseEvent {
    let frame = SseEvent::default().id(event.id.to_string());
    let frame = if event.name.is_empty() { frame } else { frame.event(&event.name) };
    frame.data(&event.payload)
}

pub(crate) fn lag_frame(skipped: u64) -> SseEvent {
    SseEvent::default().comment(format!("too slow: {skipped} items were skipped"))
}

/// Emitted events as they settle; `Last-Event-ID` first sends what came since.
pub(crate) async fn events<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    Path(owner): Path,
    query: ListQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let owner = emitter::<E>(owner)?;
    let since = last_event_id(&headers)?;
    let name = query.params.text("event_name")?;
    // Subscribed before the history is read, so that nothing falls between.
    let live = app.engine.stream(&caller, &owner).await?;
    Ok(Feed { name, ..Feed::new(app.engine, caller, owner, live, since) }.respond(key, event_frame))
}

/// What a workflow sent with `$.send.sse`. A client that resumes nothing first gets the last
/// hundred (reference 2).
pub(crate) async fn sends(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    Path(workflow): Path,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let owner = app.engine.events().sse_emitter(&id::<WorkflowId>("workflow", &workflow)?);
    let mut since = last_event_id(&headers)?;
    let live = app.engine.stream(&caller, &owner).await?;
    if since.is_none() {
        let page = Page { limit: Page::LIMIT_MAX, ..Page::default() };
        let newest = app
            .engine
            .events()
            .list(&caller, &owner, EventFilter::default(), false, &page)
            .await?
            .items;
        since = newest.last().map(|oldest| EventId::from_ordinal(oldest.event.id.ordinal() - 1));
    }
    Ok(Feed::new(app.engine, caller, owner, live, since).respond(key, send_frame))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<EventId>, ApiError> {
    match headers.get("last-event-id").map(|v| String::from_utf8_lossy(v.as_bytes())) {
        None => Ok(None),
        Some(text) if text.is_empty() => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|e: millrace_model::ids::InvalidId| {
            ApiError::field("Last-Event-ID", e.to_string())
        }),
    }
}

/// One client's stream of events: live, and from the history where the client or the live stream is
/// behind.
pub(crate) struct Feed {
    engine: Engine,
    caller: Caller,
    owner: String,
    /// The channel asked for; none: all.
    name: Option<String>,
    live: broadcast::Receiver<StreamItem>,
    /// The greatest id that the client has.
    last: Option<EventId>,
    /// Whether the history after `last` has to be read before the live stream goes on.
    behind: bool,
    sent: Sent,
    /// Read from the history and not yet sent; at most a page.
    waiting: VecDeque<Arc<Event>>,
    /// How many events the next page has.
    page: u32,
}

/// An item of a [`Feed`].
pub(crate) enum Fed {
    Event(Arc<Event>),
    /// The client was too slow for so many items. Those that the history has follow.
    Lag(u64),
}

impl Feed {
    /// Of all channels; `since`: from the history what came after.
    pub(crate) fn new(
        engine: Engine,
        caller: Caller,
        owner: String,
        live: broadcast::Receiver<StreamItem>,
        since: Option<EventId>,
    ) -> Self {
        let (sent, waiting) = (Sent::default(), VecDeque::new());
        Self {
            engine,
            caller,
            owner,
            name: None,
            live,
            last: since,
            behind: since.is_some(),
            sent,
            waiting,
            page: 1,
        }
    }

    /// `frame`: how an event is written.
    fn respond(self, key: KeyWatch, frame: fn(&Event) -> SseEvent) -> Response {
        let frames = self.items().map(move |item| match item {
            Fed::Event(event) => frame(&event),
            Fed::Lag(skipped) => lag_frame(skipped),
        });
        respond(lasting(frames, key))
    }

    pub(crate) fn items(self) -> impl Stream<Item = Fed> + Send + 'static {
        stream::unfold(self, |mut feed| async move { feed.next().await.map(|item| (item, feed)) })
    }

    async fn next(&mut self) -> Option<Fed> {
        loop {
            while let Some(event) = self.waiting.pop_front() {
                if self.is_new(&event) {
                    return Some(Fed::Event(event));
                }
            }
            if let (true, Some(last)) = (self.behind, self.last) {
                match self.engine.events().after(&self.caller, &self.owner, last, self.page).await {
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
                        self.behind = !events.is_empty();
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
                        return Some(Fed::Event(event));
                    }
                }
                Ok(_) => {}
                Err(RecvError::Lagged(skipped)) => {
                    self.behind = true;
                    return Some(Fed::Lag(skipped));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Notes the event; whether the client asked for it and does not have it yet. Ids alone cannot
    /// tell by their order: runs that end together may settle in another order than that of their
    /// events' ids.
    fn is_new(&mut self, event: &Event) -> bool {
        self.last = self.last.max(Some(event.id));
        let wanted = match &self.name {
            Some(name) => *name == event.name,
            // As in the history: errors and what waits are asked for by name.
            None => ![ERRORS, DEFERRED].contains(&event.name.as_str()),
        };
        self.sent.insert(event.id) && wanted
    }
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

/// Log lines as they are written.
pub(crate) async fn logs<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    Path(owner): Path,
) -> Result<Response, ApiError> {
    let live = app.engine.stream(&caller, &emitter::<E>(owner)?).await?;
    let lines = BroadcastStream::new(live).filter_map(|item| async move {
        match item {
            Ok(StreamItem::Log(run, line)) => {
                let shown = LogLineOut::show(&line, Some(&run));
                Some(SseEvent::default().data(shown.to_string()))
            }
            Ok(_) => None,
            Err(tokio_stream::wrappers::errors::BroadcastStreamRecvError::Lagged(skipped)) => {
                Some(lag_frame(skipped))
            }
        }
    });
    Ok(respond(lasting(lines, key)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[tokio::test]
    async fn a_stream_is_written_as_clients_read_it() {
        let event = Event {
            id: EventId { ms: 1_606_511_826_306, seq: 1 },
            org_id: "o_1".parse().unwrap(),
            emitter_id: "dc_1".into(),
            name: String::new(),
            emit_id: "k".into(),
            payload: r#"{"text":"two\nlines"}"#.into(),
            metadata: "{}".into(),
        };
        let response = respond(stream::iter([event_frame(&event), lag_frame(7)]));
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        let expected = concat!(
            ": connected\n\n",
            "id: 1606511826306-1\n",
            "data: {\"e\":{\"text\":\"two\\nlines\"},\"k\":\"emit\",\"ts\":1606511826306,\"id\":\"1606511826306-1\",\"name\":\"\"}\n\n",
            ": too slow: 7 items were skipped\n\n",
        );
        assert_eq!(String::from_utf8_lossy(&body), expected);
    }

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

    #[test]
    fn a_resume_needs_an_event_id() {
        let check = |value: &'static str| {
            last_event_id(&HeaderMap::from_iter([(
                HeaderName::from_static("last-event-id"),
                HeaderValue::from_static(value),
            )]))
        };
        assert_eq!(check("5-1").ok(), Some(Some(EventId { ms: 5, seq: 1 })));
        assert_eq!(check("").ok(), Some(None));
        assert!(check("yesterday").is_err());
    }
}
