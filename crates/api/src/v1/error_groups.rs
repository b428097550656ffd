//! Groups of errors and their state.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{ErrorGroupFilter, ErrorGroupView};
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion};
use millrace_model::ids::{ErrorGroupId, SourceId};
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter, id};
use crate::v1::runs::time;
use crate::wire::{self, Fields};
use crate::written_back::WrittenBack;

/// Groups of the errors of a workflow or source.
pub(crate) async fn list_of<E: Emitter>(
    State(app): State<App>,
    auth: Auth,
    Path(owner): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    listed(&app, &auth, Some(emitter::<E>(owner)?), &query).await
}

/// Groups of all errors.
pub(crate) async fn list(
    State(app): State<App>,
    auth: Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    listed(&app, &auth, None, &query).await
}

async fn listed(
    app: &App,
    Auth(caller): &Auth,
    owner: Option<String>,
    query: &ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    let states = params
        .words("state")?
        .unwrap_or_default()
        .iter()
        .map(|text| state(text))
        .collect::<Result<_, _>>()?;
    let filter = ErrorGroupFilter {
        owner,
        states,
        class: params.text("class")?,
        since: time(params, "from")?,
    };
    let listing = app.engine.error_groups().list(caller, &filter, &query.page).await?;
    let days = match params.number("days")? {
        Some(days) => {
            Some(app.engine.error_groups().days(caller, days, time(params, "days_to")?).await?)
        }
        None => None,
    };
    Ok(Fields::of(params).records(listing, |g| {
        let mut shown = record(&g);
        if let Some(days) = &days {
            shown["days"] = json!(days.of_group(&g.id));
        }
        shown
    }))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(group): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.error_groups().get(&caller, &group_id(&group)?).await?;
    Ok(Fields::of(&query.params).data(whole(&view)))
}

/// Changes the state or the note; null takes the note away.
pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(group): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let group = group_id(&group)?;
    back.check(&params, async {
        Ok(whole(&app.engine.error_groups().get(&caller, &group).await?))
    })
    .await?;
    let given = params.text("state")?.map(|text| state(&text)).transpose()?;
    let note = if params.0.contains_key("note") { Some(params.text("note")?) } else { None };
    let view = app.engine.error_groups().change(&caller, &group, given, note).await?;
    Ok(Fields::of(&params).data(whole(&view)))
}

fn group_id(text: &str) -> Result<ErrorGroupId, ApiError> {
    id("group of errors", text)
}

fn state(text: &str) -> Result<ErrorState, ApiError> {
    let refused = || {
        let shown = millrace_model::shown(text);
        ApiError::field(
            "state",
            format!(
                "`{shown}` is not a state of errors; allowed are open, resolved, ignored and regressed"
            ),
        )
    };
    ErrorState::parse(text).ok_or_else(refused)
}

fn record(g: &ErrorGroup) -> Value {
    let is_source = g.owner.starts_with(SourceId::PREFIX);
    json!({
        "id": g.id, "workflow_id": (!is_source).then_some(&g.owner), "source_id": is_source.then_some(&g.owner), "code": g.class, "step": g.step, "frame": g.frame,
        "message": g.message, "last_run_id": g.last_run_id, "first_seen_ms": g.first_at.ms(), "last_seen_ms": g.last_at.ms(), "count": g.count,
        "state": g.state.as_str(), "state_changed_at_ms": g.state_at.map(Timestamp::ms), "note": g.note,
    })
}

fn whole(view: &ErrorGroupView) -> Value {
    let mut shown = record(&view.group);
    shown["history"] = view.changes.iter().map(change).collect();
    shown["versions"] = view.versions.iter().map(version).collect();
    shown
}

fn change(c: &ErrorGroupChange) -> Value {
    json!({ "at_ms": c.at.ms(), "state": c.state.as_str(), "by": wire::author(c.by.as_ref()), "note": c.note, "run_id": c.run_id })
}

fn version(v: &ErrorVersion) -> Value {
    json!({ "deployment_id": v.deployment_id, "version": v.version, "count": v.count, "first_seen_ms": v.first_at.ms(), "last_seen_ms": v.last_at.ms() })
}
