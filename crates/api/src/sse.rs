//! Streams of events and logs.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use millrace_engine::StreamItem;
use millrace_model::event::Event;
use millrace_model::ids::EventId;
use serde_json::{Value, json};
use tokio_stream::wrappers::BroadcastStream;

use crate::App;
use crate::error::ApiError;
use crate::extract::Auth;
use crate::wire;

/// Events sent again to a client that resumes.
const RESUMED_MAX: u32 = 1000;

fn keep_alive() -> KeepAlive {
    KeepAlive::new().interval(Duration::from_secs(15)).text("keepalive")
}

fn event_frame(event: &Event) -> SseEvent {
    let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
    let data = json!({ "e": payload, "k": "emit", "ts": event.id.ms, "id": event.id.to_string(), "name": event.name });
    SseEvent::default().id(event.id.to_string()).data(data.to_string())
}

/// Emitted events as they settle; `Last-Event-ID` first sends what came since.
pub(crate) async fn events(State(app): State<App>, Auth(caller): Auth, Path(owner): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    // Subscribed before the history is read, so that nothing falls between.
    let live = app.engine.stream(&caller, &owner).await?;
    let since = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<EventId>().ok());
    let missed = match since {
        Some(since) => app.engine.events_after(&caller, &owner, since, RESUMED_MAX).await?,
        None => Vec::new(),
    };
    let sent_until = missed.last().map(|e| e.id);
    let first = futures::stream::iter(missed.iter().map(event_frame).collect::<Vec<_>>());
    let live = BroadcastStream::new(live).filter_map(move |item| async move {
        match item {
            Ok(StreamItem::Event(event)) if sent_until.is_none_or(|until| event.id > until) => Some(event_frame(&event)),
            Ok(_) => None,
            Err(lag) => Some(SseEvent::default().comment(format!("too slow: {lag}"))),
        }
    });
    Ok(Sse::new(first.chain(live).map(Ok::<_, Infallible>)).keep_alive(keep_alive()).into_response())
}

/// Log lines as they are written.
pub(crate) async fn logs(State(app): State<App>, Auth(caller): Auth, Path(owner): Path<String>) -> Result<Response, ApiError> {
    let live = app.engine.stream(&caller, &owner).await?;
    let lines = BroadcastStream::new(live).filter_map(|item| async move {
        match item {
            Ok(StreamItem::Log(run, line)) => {
                let mut shown = wire::log_line(&line);
                shown["run_id"] = json!(run);
                Some(SseEvent::default().data(shown.to_string()))
            }
            Ok(StreamItem::Event(_)) => None,
            Err(lag) => Some(SseEvent::default().comment(format!("too slow: {lag}"))),
        }
    });
    Ok(Sse::new(lines.map(Ok::<_, Infallible>)).keep_alive(keep_alive()).into_response())
}
