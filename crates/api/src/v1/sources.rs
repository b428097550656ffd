//! `/sources`.

use std::collections::HashMap;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{NewSource, NewestOf, SettingsOfSource, SourceView, UpdateSource};
use millrace_model::ids::{OrgId, SourceId};
use millrace_model::tenant::Caller;
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params, Path, Paths, id};
use crate::v1::components::{code_of, required_code};
use crate::v1::names;
use crate::v1::runs::{asked_stats, own_stats, with_stats};
use crate::wire::{self, Fields};
use crate::written_back::WrittenBack;

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let new = NewSource {
        code: required_code(&params)?,
        name: params.text("name")?,
        configured_props: params.object("configured_props")?.unwrap_or_default(),
        form: params.text("dynamic_props_id")?,
        active: params.flag("active")?.unwrap_or(true),
        emits_on_deploy: true,
        made_from: params.parsed("made_from")?,
        settings: settings(&params)?,
        message: params.text("message")?,
    };
    let view = app.engine.create_source(&caller, new).await?;
    Ok(Fields::of(&params).data(wire::source(&view)))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let source = id("source", &source)?;
    back.check(&params, async { Ok(wire::source(&app.engine.source(&caller, &source).await?)) })
        .await?;
    check_made_props(&app, &caller, &source, &params).await?;
    let update = UpdateSource {
        code: code_of(&params)?,
        name: params.text("name")?,
        configured_props: params.object("configured_props")?,
        form: params.text("dynamic_props_id")?,
        active: params.flag("active")?,
        made_from: params.parsed("made_from")?,
        settings: settings(&params)?,
        message: params.text("message")?,
    };
    let view = app.engine.update_source(&caller, &source, update).await?;
    Ok(Fields::of(&params).data(wire::source(&view)))
}

/// Refuses another value than the record shows for a prop that the server makes: an endpoint, a
/// database, a hook.
pub(crate) async fn check_made_props(
    app: &App,
    caller: &Caller,
    source: &SourceId,
    params: &Params,
) -> Result<(), ApiError> {
    let Some(Value::Object(given)) = params.0.get("configured_props") else { return Ok(()) };
    if !given
        .values()
        .any(|value| value.get("endpoint_url").or_else(|| value.get("event_names")).is_some())
    {
        return Ok(());
    }
    let view = app.engine.source(caller, source).await?;
    let component = app.engine.component(caller, view.source.component_id.as_str()).await?;
    let made = ["$.interface.http", "$.interface.apphook"];
    for def in component.manifest.props.iter().filter(|def| made.contains(&def.prop_type.as_str()))
    {
        if let (Some(value), Some(own)) =
            (given.get(&def.name), view.source.configured_props.get(&def.name))
        {
            WrittenBack::check_made(&format!("configured_props.{}", def.name), value, own)?;
        }
    }
    Ok(())
}

fn settings(params: &Params) -> Result<SettingsOfSource, ApiError> {
    Ok(SettingsOfSource {
        calls_per_isolate: params.parsed("calls_per_isolate")?,
        concurrency: params.parsed("concurrency")?,
    })
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    let mut shown = wire::source(&view);
    if let Some(stats) = own_stats(&app, &caller, view.source.id.as_str(), &query.params).await? {
        shown["stats"] = stats;
        shown =
            with_newest(shown, &newest_of(&app, &caller, vec![view.source.id.to_string()]).await?);
    }
    Ok(Fields::of(&query.params).data(shown))
}

/// The newest event and error of sources, by their ids.
async fn newest_of(
    app: &App,
    caller: &Caller,
    sources: Vec<String>,
) -> Result<HashMap<String, NewestOf>, ApiError> {
    let found = app.engine.events().newest_of(caller, sources).await?;
    Ok(found.into_iter().map(|newest| (newest.emitter.clone(), newest)).collect())
}

/// A record with its newest event and error.
fn with_newest(mut record: Value, found: &HashMap<String, NewestOf>) -> Value {
    let newest = record["id"].as_str().and_then(|id| found.get(id));
    record["last_event"] =
        json!(newest.and_then(|newest| newest.event.as_ref()).map(wire::newest_event));
    record["last_error"] =
        json!(newest.and_then(|newest| newest.failed.as_ref()).map(wire::newest_error));
    record
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app.engine.list_sources(&caller, &query.page).await?;
    let stats = asked_stats(&app, &caller, &query.params).await?;
    let newest = match &stats {
        Some(_) => Some(
            newest_of(
                &app,
                &caller,
                listing.items.iter().map(|view| view.source.id.to_string()).collect(),
            )
            .await?,
        ),
        None => None,
    };
    let show = |view: SourceView| {
        let shown = with_stats(wire::source(&view), stats.as_ref());
        match &newest {
            Some(newest) => with_newest(shown, newest),
            None => shown,
        }
    };
    Ok(Fields::of(&query.params).records(listing, show))
}

pub(crate) async fn list_of(
    State(app): State<App>,
    auth: Auth,
    Path(org): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    own(&app, &auth.0, &org).await?;
    list(State(app), auth, query).await
}

/// That the path names the caller's own organization.
pub(crate) async fn own(app: &App, caller: &Caller, org: &str) -> Result<(), ApiError> {
    app.engine.organizations().get(caller, &id::<OrgId>("workspace", org)?).await?;
    Ok(())
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    params: Params,
) -> Result<Response, ApiError> {
    if names::is_dry(&params)? {
        return Ok(names::would_go(
            &source,
            &app.engine.source_would_go(&caller, &id("source", &source)?).await?,
        ));
    }
    app.engine.delete_source(&caller, &id("source", &source)?).await?;
    Ok(Fields::default().data(json!({ "id": source, "deleted": true })))
}

pub(crate) async fn deployments(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let listing =
        app.engine.list_source_deployments(&caller, &id("source", &source)?, &query.page).await?;
    Ok(Fields::of(&query.params).records(listing, |d| wire::source_deployment(&d)))
}

pub(crate) async fn deployment(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([source, deployment]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app
        .engine
        .source_deployment(&caller, &id("source", &source)?, &id("deployment", &deployment)?)
        .await?;
    Ok(Fields::of(&query.params).data(wire::whole_source_deployment(&view)))
}

pub(crate) async fn rollback(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let to = params.text("deployment_id")?.ok_or_else(|| {
        ApiError::field(
            "deployment_id",
            "`deployment_id` is required: the deployment to make live again",
        )
    })?;
    let view = app
        .engine
        .rollback_source(
            &caller,
            &id("source", &source)?,
            &id("deployment", &to)?,
            params.text("message")?,
        )
        .await?;
    Ok(Fields::default().data(wire::source_deployment(&view.deployment)))
}

pub(crate) async fn run_now(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let run = app
        .engine
        .run_source(&caller, &id("source", &source)?, params.0.get("event").cloned())
        .await?;
    Ok(Fields::of(&params).data(wire::run(&run)))
}
