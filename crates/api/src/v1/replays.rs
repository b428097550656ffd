//! Replays of many runs.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewReplay, ReplayChange, ReplayView};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{ErrorGroupId, ReplayId, RunId, SourceId, WorkflowId};
use millrace_model::replay::{Replay, ReplayBegin, ReplayedRun};
use serde_json::{Value, json};

use crate::App;
use crate::error::{ApiError, accepted};
use crate::extract::{Auth, ListQuery, Params, Path, emitter, encode_cursor, id};
use crate::v1::runs::{given_filter, version};
use crate::wire::Fields;

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let runs = params
        .words("runs")?
        .map(|runs| runs.iter().map(|run| id::<RunId>("run", run)).collect::<Result<Vec<_>, _>>())
        .transpose()?;
    let filter = params.object("filter")?.map(|given| given_filter(&given)).transpose()?;
    let owner = match (params.text("workflow_id")?, params.text("source_id")?) {
        (Some(workflow), None) => Some(emitter::<WorkflowId>(workflow)?),
        (None, Some(source)) => Some(emitter::<SourceId>(source)?),
        (None, None) if filter.is_some() || runs.is_some() => None,
        _ => {
            return Err(ApiError::field(
                "workflow_id",
                "exactly one of `workflow_id` and `source_id` is required: whose runs are replayed; or `runs`, or `filter`",
            ));
        }
    };
    let begin = match (params.text("from_step")?, params.flag("from_failed")?.unwrap_or(false)) {
        (None, false) => ReplayBegin::Start,
        (Some(step), false) => ReplayBegin::Step(step),
        (None, true) => ReplayBegin::Failed,
        (Some(_), true) => {
            return Err(ApiError::field(
                "from_step",
                "`from_step` and `from_failed` exclude each other: give one of them",
            ));
        }
    };
    let group = params
        .text("group")?
        .map(|group| id::<ErrorGroupId>("group of errors", &group))
        .transpose()?;
    let (class, from, to, version) =
        (params.text("class")?, time(&params, "from")?, time(&params, "to")?, version(&params)?);
    let new = NewReplay { owner, runs, class, group, from, to, filter, begin, version };
    if params.flag("dry_run")?.unwrap_or(false) {
        let total = app.engine.count_replay(&caller, new).await?;
        return Ok(Fields::default().data(json!({ "total": total })));
    }
    let view = app.engine.create_replay(&caller, new).await?;
    Ok(accepted(Fields::default().data(shown(&view))))
}

/// Epoch milliseconds, or a time as RFC 3339 writes it.
fn time(params: &Params, field: &str) -> Result<Option<Timestamp>, ApiError> {
    let text = match params.0.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let ms = text.parse::<i64>().ok().map(Timestamp).or_else(|| Timestamp::parse_iso(&text));
    let refused = || {
        ApiError::field(
            field,
            format!(
                "`{text}` is not a time; allowed are epoch milliseconds and such as 2026-01-31T12:00:00Z"
            ),
        )
    };
    ms.map(Some).ok_or_else(refused)
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing = app.engine.list_replays(&caller, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |r| record(&r)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(replay): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.replay(&caller, &id("replay", &replay)?).await?;
    Ok(Fields::of(&query.params).data(shown(&view)))
}

pub(crate) async fn runs(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(replay): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing = app.engine.replayed_runs(&caller, &id("replay", &replay)?, &query.page).await?;
    let line = |r: &ReplayedRun| {
        (
            encode_cursor(r.original_id.as_str()),
            json!({ "original_id": r.original_id, "run_id": r.run_id, "status": r.status }),
        )
    };
    Ok(Fields::of(&query.params)
        .list(listing.total_count, listing.items.iter().map(line).collect()))
}

pub(crate) async fn pause(
    state: State<App>,
    auth: Auth,
    path: Path,
    _: Params,
) -> Result<Response, ApiError> {
    change(state, auth, path, ReplayChange::Pause).await
}

pub(crate) async fn resume(
    state: State<App>,
    auth: Auth,
    path: Path,
    _: Params,
) -> Result<Response, ApiError> {
    change(state, auth, path, ReplayChange::Resume).await
}

pub(crate) async fn cancel(
    state: State<App>,
    auth: Auth,
    path: Path,
    _: Params,
) -> Result<Response, ApiError> {
    change(state, auth, path, ReplayChange::Cancel).await
}

async fn change(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(replay): Path,
    change: ReplayChange,
) -> Result<Response, ApiError> {
    let view =
        app.engine.change_replay(&caller, &id::<ReplayId>("replay", &replay)?, change).await?;
    Ok(Fields::default().data(shown(&view)))
}

pub(crate) fn record(r: &Replay) -> Value {
    let is_source = r.owner.starts_with(SourceId::PREFIX);
    json!({
        "id": r.id, "workflow_id": r.owner.starts_with(WorkflowId::PREFIX).then_some(&r.owner), "source_id": is_source.then_some(&r.owner), "status": r.status.as_str(), "selection": r.selection,
        "total": r.total, "replayed": r.replayed, "skipped": r.skipped, "note": r.note, "created_at": r.created_at.secs(), "updated_at": r.updated_at.secs(),
    })
}

fn shown(view: &ReplayView) -> Value {
    let (mut shown, c) = (record(&view.replay), view.counts);
    shown["runs"] = json!({ "unfinished": c.unfinished, "succeeded": c.succeeded, "failed": c.failed, "cancelled": c.cancelled });
    shown
}
