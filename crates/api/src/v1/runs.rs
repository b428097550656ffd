//! Runs and logs.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use millrace_engine::{ReplayFrom, RunFilter};
use millrace_model::clock::Timestamp;
use millrace_model::run::RunStatus;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter, id};
use crate::wire::{self, Fields};

/// Log lines that are kept for inspection.
const LOGS_SHOWN: u32 = 100;

pub(crate) async fn show(State(app): State<App>, Auth(caller): Auth, Path(run): Path, query: ListQuery) -> Result<Response, ApiError> {
    let view = app.engine.run_with_room(&caller, &id("run", &run)?, &query.page.room).await?;
    let fields = Fields::of(&query.params);
    query.memory.make(view, |view| wire::run_values(&view.run), move |view| fields.data(wire::run_with_logs(&view))).await
}

/// Runs of a source or workflow.
pub(crate) async fn list<E: Emitter>(State(app): State<App>, Auth(caller): Auth, Path(owner): Path, query: ListQuery) -> Result<Response, ApiError> {
    let listing = app.engine.list_runs(&caller, &emitter::<E>(owner)?, &filter(&query.params)?, &query.page).await?;
    let fields = Fields::of(&query.params);
    query.memory.make(listing, |page| page.items.iter().map(wire::run_values).sum(), move |listing| fields.records(listing, |r| wire::run(&r))).await
}

fn filter(params: &Params) -> Result<RunFilter, ApiError> {
    let status = params
        .text("status")?
        .map(|text| {
            RunStatus::parse(&text).ok_or_else(|| {
                ApiError::field("status", format!("`{text}` is not a status; allowed are queued, running, paused, succeeded, failed and cancelled"))
            })
        })
        .transpose()?;
    Ok(RunFilter { status, from: time(params, "from")?, to: time(params, "to")? })
}

/// Epoch milliseconds.
pub(crate) fn time(params: &Params, field: &str) -> Result<Option<Timestamp>, ApiError> {
    params
        .text(field)?
        .map(|text| text.parse().map(Timestamp).map_err(|_| ApiError::field(field, format!("`{text}` is not a time; allowed are epoch milliseconds"))))
        .transpose()
}

/// The same event again; `from_step`, or `from_failed`: with the results of the steps before.
pub(crate) async fn replay(State(app): State<App>, Auth(caller): Auth, Path(run): Path, params: Params) -> Result<Response, ApiError> {
    let from = match (params.text("from_step")?, params.flag("from_failed")?.unwrap_or(false)) {
        (None, false) => ReplayFrom::Start,
        (Some(step), false) => ReplayFrom::Step(step),
        (None, true) => ReplayFrom::Failed,
        (Some(_), true) => return Err(ApiError::field("from_step", "`from_step` and `from_failed` exclude each other: give one of them")),
    };
    let run = app.engine.replay_run(&caller, &id("run", &run)?, from).await?;
    Ok(Fields::default().data(wire::run_named_by(&caller, &run)))
}

/// Cancels a run that is queued or paused.
pub(crate) async fn cancel(State(app): State<App>, Auth(caller): Auth, Path(run): Path) -> Result<Response, ApiError> {
    let run = app.engine.cancel_run(&caller, &id("run", &run)?).await?;
    Ok(Fields::default().data(wire::run_named_by(&caller, &run)))
}

/// The newest log lines of a source or workflow: one page, without cursors.
pub(crate) async fn logs<E: Emitter>(State(app): State<App>, Auth(caller): Auth, Path(owner): Path, query: ListQuery) -> Result<Response, ApiError> {
    let limit = query.params.text("limit")?.map_or(LOGS_SHOWN, |_| query.page.limit);
    let lines = app.engine.owner_logs(&caller, &emitter::<E>(owner)?, limit).await?;
    let fields = Fields::of(&query.params);
    let data: Vec<Value> = lines
        .iter()
        .map(|(run, line)| {
            let mut shown = wire::log_line(line);
            shown["run_id"] = json!(run);
            fields.apply(shown)
        })
        .collect();
    let page_info = json!({ "total_count": data.len(), "count": data.len(), "start_cursor": null, "end_cursor": null });
    Ok(Json(json!({ "page_info": page_info, "data": data })).into_response())
}
