//! Streams of events and logs.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use millrace_engine::{EngineError, KeyWatch, Lagged, StreamItem};
use millrace_fair::Permit;
use millrace_model::event::{Event, EventFilter};
use millrace_model::ids::{EventId, OrgId, WorkflowId};
use millrace_model::page::Page;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Path, credential, emitter, id};
use crate::room::Whose;
use crate::v1::events::EmittedEventOut;
use crate::v1::feed::{Fed, Feed};
use crate::v1::position::Position;
use crate::v1::run_records::LogLineOut;

/// What a stream lasts by: it ends with the key that was shown, or once that may do more or less,
/// and counts among the streams of its organization until then.
pub(crate) struct Lease {
    key: KeyWatch,
    _open: Permit<OrgId>,
}

/// For an answer that goes on. It stands after `Auth`, which finds out whose the request is.
pub(crate) struct Lasting(pub(crate) Lease);

impl FromRequestParts<App> for Lasting {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let key = credential(&parts.method, &parts.headers)?;
        let whose = Whose::of(&parts.extensions);
        let (org, scopes) = whose.org().zip(whose.scopes()).ok_or(EngineError::Unauthorized)?;
        let key = app.engine.keys().watch(key, org, scopes);
        Ok(Self(Lease { key, _open: app.open_streams.open(org)? }))
    }
}

/// What a stream says, until the key that asked for it is taken no more.
pub(crate) fn lasting(
    frames: impl Stream<Item = SseEvent> + Send + 'static,
    lease: Lease,
) -> impl Stream<Item = SseEvent> + Send + 'static {
    stream::unfold((Box::pin(frames), lease), |(mut frames, mut lease)| async move {
        let key = &mut lease.key;
        loop {
            if !key.is_valid().await {
                return None;
            }
            tokio::select! {
                // What came after the key's end is not told.
                biased;
                () = key.changed() => {}
                frame = frames.next() => return frame.map(|frame| (frame, (frames, lease))),
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
    Ok(respond_with_events(
        Feed::open(app.engine, caller, owner, name, since.map(Position::from)).await?,
        key,
        event_frame,
    ))
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
    if since.is_none() {
        let page = Page { limit: Page::LIMIT_MAX, ..Page::default() };
        let newest = app
            .engine
            .events()
            .list(&caller, &owner, EventFilter::default(), false, &page)
            .await?
            .items;
        let before = newest.last().map_or(0, |oldest| oldest.event.id.ordinal() - 1);
        since = Some(EventId::from_ordinal(before));
    }
    Ok(respond_with_events(
        Feed::open(app.engine, caller, owner, None, since.map(Position::from)).await?,
        key,
        send_frame,
    ))
}

/// `frame`: how an event is written.
fn respond_with_events(feed: Feed, key: Lease, frame: fn(&Event) -> SseEvent) -> Response {
    let frames = feed.items().map(move |item| match item {
        Fed::Event(event, _) => frame(&event),
        Fed::Lag(skipped, _) => lag_frame(skipped),
    });
    respond(lasting(frames, key))
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

/// Log lines as they are written.
pub(crate) async fn logs<E: Emitter>(
    State(app): State<App>,
    Auth(caller): Auth,
    Lasting(key): Lasting,
    Path(owner): Path,
) -> Result<Response, ApiError> {
    let live = app.engine.stream(&caller, &emitter::<E>(owner)?).await?;
    let items = stream::unfold(live, |mut live| async move { Some((live.recv().await, live)) });
    let lines = items.filter_map(|item| async move {
        match item {
            Ok(StreamItem::Log(run, line)) => {
                let shown = LogLineOut::show(&line, Some(&run));
                Some(SseEvent::default().data(shown.to_string()))
            }
            Ok(StreamItem::Missed(_)) => {
                Some(SseEvent::default().comment("lines of other servers may have been missed"))
            }
            Ok(_) => None,
            Err(Lagged(skipped)) => Some(lag_frame(skipped)),
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

    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_comes_every_15_seconds_in_which_nothing_else_does() {
        let began = tokio::time::Instant::now();
        let after = |seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            SseEvent::default().event("run").data("{}")
        };
        let frames = stream::once(after(10)).chain(stream::pending());
        let heartbeat = SseEvent::default().event("heartbeat").data("{}");
        let mut body = respond_with(frames, heartbeat).into_body().into_data_stream();
        let mut came = Vec::new();
        while came.len() < 4 {
            let frame = body.next().await.unwrap().unwrap();
            let text = String::from_utf8_lossy(&frame).into_owned();
            came.push((began.elapsed().as_secs(), text));
        }
        let heartbeat = "event: heartbeat\ndata: {}\n\n".to_owned();
        let run = "event: run\ndata: {}\n\n".to_owned();
        let expected =
            [(0, ": connected\n\n".into()), (10, run), (25, heartbeat.clone()), (40, heartbeat)];
        assert_eq!(came, expected);
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
