//! Event summaries.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewEvent, PassedOn};
use millrace_model::event::{
    Event, EventFilter, ListedEvent, PAYLOAD_PREVIEW_BYTES, PAYLOAD_SHOWN_BYTES,
};
use millrace_model::ids::{EventId, RunId, SourceId};
use millrace_model::json::shown;
use millrace_model::page::Listing;
use millrace_model::pause::shows;
use millrace_model::subscription::{DEFERRED, ERRORS};
use millrace_model::tenant::Scope;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::App;
use crate::contract::shape::record;
use crate::error::{ApiError, accepted};
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, Paths, emitter, id, unfolded};
use crate::fields::Fields;

/// What is known of an event.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of what is stored as JSON")]
pub(crate) struct EventMetadataOut {
    emitter_id: String,
    emit_id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_ts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
}

record! {
    /// An event
    EventSummaryOut(e: &Event, payload: Value) {
        id: String = e.id.to_string(),
        indexed_at_ms: i64 = e.id.ms,
        #[schemars(with = "EventMetadataOut")]
        metadata: Map<String, Value> = metadata(e),
        event: Value = payload,
    }
}

record! {
    /// An event that was sent to listeners: the runs that it started, and how many deliveries to
    /// webhooks
    PassedOnOut<'a>(passed: &'a PassedOn) {
        event_id: String = passed.event.to_string(),
        run_ids: &'a [RunId] = &passed.runs,
        deliveries: usize = passed.deliveries,
    }
}

record! {
    /// How many were deleted
    RemovedOut(deleted: u64) {
        deleted: u64 = deleted,
    }
}

record! {
    /// An event that a source emitted, in a stream
    EmittedEventOut<'a>(e: &'a Event) {
        e: Value = shown(&e.payload),
        k: EmitKind = EmitKind::Emit,
        ts: i64 = e.id.ms,
        id: String = e.id.to_string(),
        name: &'a str = &e.name,
    }
}

/// What an item of a stream is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EmitKind {
    /// An event.
    Emit,
}

/// An event with all of its data.
pub(crate) fn event(e: &Event) -> Value {
    EventSummaryOut::show(e, shown(&e.payload))
}

/// An event of a list, whose data is cut where it is large.
fn listed(e: &ListedEvent, expand: bool) -> Value {
    if expand || e.payload_bytes <= PAYLOAD_SHOWN_BYTES {
        return event(&e.event);
    }
    let payload = &e.event.payload;
    let preview = &payload[..payload.floor_char_boundary(PAYLOAD_PREVIEW_BYTES)];
    let cut = json!({ "$truncated": true, "$bytes": e.payload_bytes, "$preview": preview });
    EventSummaryOut::show(&e.event, cut)
}

/// What its emitter said of it, and where it comes from.
fn metadata(e: &Event) -> Map<String, Value> {
    let mut metadata: Map<String, Value> =
        millrace_model::json::from_str(&e.metadata).unwrap_or_default();
    if e.name == DEFERRED {
        // What it is delivered with is the engine's.
        metadata
            .retain(|field, _| !["trace_id", "hops", "handles_error"].contains(&field.as_str()));
    }
    metadata.insert("emitter_id".into(), json!(e.emitter_id));
    metadata.insert("emit_id".into(), json!(e.emit_id));
    metadata.insert("name".into(), json!(e.name));
    metadata
}

/// About how many bytes the values take that are read to show it.
pub(crate) fn event_values(e: &Event) -> usize {
    [&e.payload, &e.metadata].map(|text| unfolded(text.as_bytes(), false)).iter().sum()
}

/// The newest events of an emitter; `event_name` chooses a channel.
pub(crate) async fn list<E: Emitter>(
    State(app): State<App>,
    auth: Auth,
    Path(id): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let name = query.params.text("event_name")?;
    summaries(&app, &auth, &emitter::<E>(id)?, name.as_deref(), query).await
}

/// Errors of its runs (spec 4.2).
pub(crate) async fn errors<E: Emitter>(
    State(app): State<App>,
    auth: Auth,
    Path(id): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    summaries(&app, &auth, &emitter::<E>(id)?, Some(ERRORS), query).await
}

async fn summaries(
    app: &App,
    auth: &Auth,
    emitter: &str,
    name: Option<&str>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    for (field, cursor) in [("after", &query.page.after), ("before", &query.page.before)] {
        if let Some(cursor) = cursor {
            event_id(field, cursor)?;
        }
    }
    let expand = query
        .params
        .text("expand")?
        .is_some_and(|e| e.split(',').any(|part| part.trim() == "event"));
    let text = query.params.text("q")?.filter(|text| !text.is_empty());
    let hidden = text.as_deref().filter(|_| !auth.0.scopes.allow(Scope::Invoke));
    let whole = expand || hidden.is_some();
    let mut listing = app
        .engine
        .events()
        .list(&auth.0, emitter, EventFilter { name, text: text.as_deref() }, whole, &query.page)
        .await?;
    if let Some(wanted) = hidden {
        listing.items.retain(|ListedEvent { event, .. }| {
            shows(&event.payload, wanted) || shows(&event.metadata, wanted)
        });
        listing.total_count = listing.items.len() as u64;
    }
    let fields = Fields::of(&query.params);
    // Cursors of events are the id itself (facts 0).
    let show = move |listing: Listing<ListedEvent>| {
        let items = listing
            .items
            .into_iter()
            .map(|e| (e.event.id.to_string(), listed(&e, expand)))
            .collect();
        fields.list(listing.total_count, items)
    };
    query
        .memory
        .make(listing, |page| page.items.iter().map(|e| event_values(&e.event)).sum(), show)
        .await
}

/// Emits an event in the name of a source.
pub(crate) async fn emit(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let event = params
        .0
        .get("event")
        .cloned()
        .ok_or_else(|| ApiError::missing("event", "the data that listeners get, any JSON"))?;
    let said = ["id", "summary", "ts"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), params.0.get(field)?.clone())));
    let new = NewEvent {
        event,
        channel: params.text("event_name")?.unwrap_or_default(),
        metadata: said.collect(),
    };
    Ok(passed_on(&app.engine.emit_event(&caller, &id("source", &source)?, new).await?))
}

/// Sends a recorded event again.
pub(crate) async fn replay(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([source, event]): Paths<2>,
    params: Params,
) -> Result<Response, ApiError> {
    let (source, event) = (id::<SourceId>("source", &source)?, event_id("event", &event)?);
    Ok(passed_on(
        &app.engine
            .replay_event(&caller, &source, event, params.text("listener_id")?.as_deref())
            .await?,
    ))
}

fn passed_on(passed: &PassedOn) -> Response {
    Fields::default().data(PassedOnOut::show(passed))
}

/// Removes an inclusive range; either bound may be missing.
pub(crate) async fn delete<E: Emitter>(
    State(app): State<App>,
    auth: Auth,
    Path(id): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let bound = |field: &str| {
        params
            .text(field)?
            .filter(|text| !text.is_empty())
            .map(|text| event_id(field, &text))
            .transpose()
    };
    let (start, end) = (bound("start_id")?, bound("end_id")?);
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        return Err(ApiError::field(
            "start_id",
            format!("`start_id` {start} is after `end_id` {end}"),
        ));
    }
    let removed = app
        .engine
        .events()
        .delete(&auth.0, &emitter::<E>(id)?, params.text("event_name")?.as_deref(), start, end)
        .await?;
    Ok(accepted(Fields::default().data(RemovedOut::show(removed))))
}

fn event_id(field: &str, text: &str) -> Result<EventId, ApiError> {
    text.parse().map_err(|e: millrace_model::ids::InvalidId| ApiError::field(field, e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_event(payload: String) -> Event {
        Event {
            id: EventId { ms: 1_606_511_826_306, seq: 0 },
            org_id: "o_1".parse().unwrap(),
            emitter_id: "dc_1".into(),
            name: "added".into(),
            emit_id: "1ktF96gAMsLqdYSRWYL9KFS5QqW".into(),
            payload,
            metadata: r#"{"id":"a","summary":"An a","ts":5,"name":"not the channel"}"#.into(),
        }
    }

    #[test]
    fn an_event_summary_has_its_metadata_beside_the_event() {
        let expected = json!({
            "id": "1606511826306-0", "indexed_at_ms": 1_606_511_826_306_i64, "event": { "b": 1, "a": 2 },
            "metadata": { "id": "a", "summary": "An a", "ts": 5, "emitter_id": "dc_1", "emit_id": "1ktF96gAMsLqdYSRWYL9KFS5QqW", "name": "added" },
        });
        let shown = event(&some_event(r#"{"b":1,"a":2}"#.into()));
        assert_eq!(shown, expected);
        assert!(shown["event"].to_string().starts_with(r#"{"b""#), "the order of keys is kept");
    }

    #[test]
    fn a_large_event_is_cut_unless_asked_for() {
        let event = some_event(json!({ "text": "é".repeat(PAYLOAD_SHOWN_BYTES) }).to_string());
        let payload_bytes = event.payload.len();
        let large = ListedEvent { event, payload_bytes };
        let cut = listed(&large, false);
        assert_eq!(
            (&cut["event"]["$truncated"], &cut["event"]["$bytes"]),
            (&json!(true), &json!(payload_bytes))
        );
        let preview = cut["event"]["$preview"].as_str().unwrap();
        assert!(preview.len() <= PAYLOAD_PREVIEW_BYTES && large.event.payload.starts_with(preview));
        assert_eq!(
            listed(&large, true)["event"]["text"].as_str().map(str::len),
            Some(2 * PAYLOAD_SHOWN_BYTES)
        );
    }
}
