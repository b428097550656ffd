//! Event summaries.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use millrace_engine::EngineError;
use millrace_model::ids::{EventId, SourceId, WorkflowId};
use millrace_model::page::Page;
use millrace_model::subscription::ERRORS;

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, id, query};
use crate::wire::{self, Fields};

async fn summaries(app: &App, auth: &Auth, emitter: &str, name: Option<&str>, mut query: ListQuery) -> Result<Response, ApiError> {
    for (field, cursor) in [("after", &query.page.after), ("before", &query.page.before)] {
        if let Some(cursor) = cursor {
            cursor.parse::<EventId>().map_err(|e| ApiError::field(field, e.to_string()))?;
        }
    }
    // The most recent 100 are returned where no limit is given (spec 4.2).
    if !query.params.0.contains_key("limit") {
        query.page.limit = Page::LIMIT_MAX;
    }
    let listing = app.engine.list_events(&auth.0, emitter, name, &query.page).await?;
    let expand = query.params.text("expand")?.is_some_and(|e| e.split(',').any(|part| part == "event"));
    let items = listing.items.iter().map(|e| (e.id.to_string(), wire::event(e, expand))).collect();
    Ok(Fields::of(&query.params).list(listing.total_count, items))
}

pub(crate) async fn of_source(State(app): State<App>, auth: Auth, Path(source): Path<String>, query: ListQuery) -> Result<Response, ApiError> {
    let emitter: SourceId = id("source", &source)?;
    let name = query.params.text("event_name")?;
    summaries(&app, &auth, emitter.as_str(), name.as_deref(), query).await
}

pub(crate) async fn of_workflow(State(app): State<App>, auth: Auth, Path(workflow): Path<String>, query: ListQuery) -> Result<Response, ApiError> {
    let emitter: WorkflowId = id("workflow", &workflow)?;
    let name = query.params.text("event_name")?;
    summaries(&app, &auth, emitter.as_str(), name.as_deref(), query).await
}

pub(crate) async fn errors_of_workflow(State(app): State<App>, auth: Auth, Path(workflow): Path<String>, query: ListQuery) -> Result<Response, ApiError> {
    let emitter: WorkflowId = id("workflow", &workflow)?;
    summaries(&app, &auth, emitter.as_str(), Some(ERRORS), query).await
}

pub(crate) async fn delete(State(app): State<App>, auth: Auth, Path(source): Path<String>, request: axum::extract::Request) -> Result<Response, ApiError> {
    let params = Params(query(request.uri().query()));
    let emitter: SourceId = id("source", &source)?;
    let bound = |field: &str| -> Result<Option<EventId>, ApiError> {
        params.text(field)?.map(|text| text.parse::<EventId>().map_err(|e| ApiError::field(field, e.to_string()))).transpose()
    };
    let (start, end) = (bound("start_id")?, bound("end_id")?);
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        return Err(EngineError::invalid("start_id", format!("`start_id` {start} is after `end_id` {end}")).into());
    }
    app.engine.delete_events(&auth.0, emitter.as_str(), params.text("event_name")?.as_deref(), start, end).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}
