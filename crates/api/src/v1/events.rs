//! Event summaries.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewEvent, PassedOn};
use millrace_model::event::{EventFilter, ListedEvent};
use millrace_model::ids::{EventId, SourceId};
use millrace_model::page::{Listing, Page};
use millrace_model::subscription::ERRORS;

use crate::App;
use crate::error::{ApiError, accepted};
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, Paths, emitter, id};
use crate::wire::{self, Fields};

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
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    for (field, cursor) in [("after", &query.page.after), ("before", &query.page.before)] {
        if let Some(cursor) = cursor {
            event_id(field, cursor)?;
        }
    }
    // The most recent 100 are returned where no limit is given (spec 4.2).
    if !query.params.0.contains_key("limit") {
        query.page.limit = Page::LIMIT_MAX;
    }
    let expand = query
        .params
        .text("expand")?
        .is_some_and(|e| e.split(',').any(|part| part.trim() == "event"));
    let text = query.params.text("q")?.filter(|text| !text.is_empty());
    let listing = app
        .engine
        .events()
        .list(&auth.0, emitter, EventFilter { name, text: text.as_deref() }, expand, &query.page)
        .await?;
    let fields = Fields::of(&query.params);
    // Cursors of events are the id itself (facts 0).
    let show = move |listing: Listing<ListedEvent>| {
        let items = listing
            .items
            .into_iter()
            .map(|e| (e.event.id.to_string(), wire::listed_event(&e, expand)))
            .collect();
        fields.list(listing.total_count, items)
    };
    query
        .memory
        .make(listing, |page| page.items.iter().map(|e| wire::event_values(&e.event)).sum(), show)
        .await
}

/// Emits an event in the name of a source.
pub(crate) async fn emit(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let event = params.0.get("event").cloned().ok_or_else(|| {
        ApiError::field("event", "`event` is missing: the data that listeners get, any JSON")
    })?;
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
    Fields::default().data(serde_json::json!({ "event_id": passed.event.to_string(), "run_ids": passed.runs, "deliveries": passed.deliveries }))
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
    Ok(accepted(Fields::default().data(serde_json::json!({ "deleted": removed }))))
}

fn event_id(field: &str, text: &str) -> Result<EventId, ApiError> {
    text.parse().map_err(|e: millrace_model::ids::InvalidId| ApiError::field(field, e.to_string()))
}
