//! `/sources`.

use std::collections::HashMap;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{
    Choice, NewSource, NewestOf, SOURCE_CONCURRENCY_MAX, SettingsOfSource, SourceView, UpdateSource,
};
use millrace_model::ids::{OrgId, SourceId};
use millrace_model::record_tag::RecordTag;
use millrace_model::source::CALLS_PER_ISOLATE_MAX;
use millrace_model::tenant::Caller;

use crate::App;
use crate::contract::routes::{Gives, Kind, Param, Route, delete, get, post, put};
use crate::contract::shape::of;
use crate::contract::table::{
    DEPLOY, DRY_RUN, DYNAMIC_PROPS, EVENT_NAME, INVOKE, LOG_EVENTS, LOGS, MADE_FROM, MESSAGE, ORG,
    OWN_RUNS, READ, RUNS_SSE, STATS, VERSION_RUNS, a, code_params, flag, listed_runs, logged,
    object, removal, runs_sse, summaries, text,
};
use crate::error::ApiError;
use crate::extract::{Auth, IfMatch, ListQuery, Params, Path, id};
use crate::fields::{Fields, tagged};
use crate::v1::components::{code_of, required_code};
use crate::v1::events::{EmittedEventOut, PassedOnOut};
use crate::v1::run_records::RunOut;
use crate::v1::run_stats::{RunStatsOut, asked_stats, own_stats};
use crate::v1::source_records::{SourceDeploymentOut, SourceOut, check_made_props};
use crate::v1::{events, names, run_records, run_stream, runs, source_deployments, sse};
use crate::written_back::WrittenBack;

pub(crate) fn routes() -> Vec<Route> {
    let parts = [
        text("name", "Its name"),
        object("configured_props", "Values of its props"),
        DYNAMIC_PROPS,
        MESSAGE,
        MADE_FROM,
        a::<Choice<u32>>(
            "calls_per_isolate",
            "Runs that one process serves at the same time, 1 to 64; `false`: 1. Runs of one process share variables, `process.env` and `/tmp`: data of one customer may reach the run of another",
        ),
        a::<Choice<u32>>(
            "concurrency",
            "Runs at the same time, 1 to 1000; `false`: 1 where it has a `$.service.db`, else no limit. More than one may lose updates of `$.service.db`; null: as it is",
        ),
    ];
    vec![
        get("/users/me/sources", READ, "Sources, newest first", list)
            .takes(&[STATS, ORG])
            .page(of::<SourceOut>()),
        get("/workspaces/{org}/sources", READ, "Sources, newest first", list_of)
            .takes(&[STATS])
            .page(of::<SourceOut>()),
        get("/orgs/{org}/sources", READ, "Sources, newest first", list_of)
            .takes(&[STATS])
            .page(of::<SourceOut>()),
        post("/sources", DEPLOY, "Deploy a source", create)
            .takes(&code_params())
            .takes(&parts)
            .takes(&[
                flag("active", "Whether it runs from now on; true unless said otherwise"),
                ORG,
            ])
            .tagged()
            .one(of::<SourceOut>()),
        get("/sources", READ, "Sources, newest first", list)
            .takes(&[STATS, ORG])
            .page(of::<SourceOut>()),
        get("/sources/{id}", READ, "A source", show)
            .takes(&[STATS])
            .tagged()
            .one(of::<SourceOut>()),
        put("/sources/{id}", DEPLOY, "Change a source", update)
            .takes(&code_params())
            .takes(&parts)
            .takes(&[flag("active", "Whether it runs"), ORG])
            .if_match()
            .tagged()
            .updates()
            .one(of::<SourceOut>()),
        get(
            "/sources/{id}/deployments",
            READ,
            "Its deployments, newest first: the first is live",
            source_deployments::list,
        )
        .takes(&[VERSION_RUNS])
        .page(of::<SourceDeploymentOut>()),
        get(
            "/sources/{id}/deployments/{deployment}",
            READ,
            "A deployment with its code, props and settings",
            source_deployments::show,
        )
        .one(of::<SourceDeploymentOut>()),
        post(
            "/sources/{id}/rollback",
            DEPLOY,
            "Make what an earlier deployment holds live again, as a new one",
            source_deployments::rollback,
        )
        .takes(&[text("deployment_id", "The deployment").required(), MESSAGE])
        .if_match()
        .gives(Gives::One(of::<SourceDeploymentOut>())),
        delete("/sources/{id}", DEPLOY, "Delete a source", remove).takes(&[DRY_RUN]),
        summaries(get(
            "/sources/{id}/event_summaries",
            READ,
            "What it emitted, newest first",
            events::list::<SourceId>,
        ))
        .takes(&[EVENT_NAME]),
        summaries(get(
            "/sources/{id}/$errors/event_summaries",
            READ,
            "Its errors, newest first",
            events::errors::<SourceId>,
        )),
        post(
            "/sources/{id}/events",
            INVOKE,
            "Emit an event to its listeners without a run of its code; dedupe does not see it",
            events::emit,
        )
        .takes(&[
            Param::new("event", Kind::Any, "The data that listeners get").required(),
            text("event_name", "The channel; the default one where it is not given"),
            Param::new("id", Kind::Any, "Shown in the event's metadata, as `$emit` takes it"),
            text("summary", "Shown in the event's metadata"),
            Param::new("ts", Kind::Any, "Shown in the event's metadata"),
        ])
        .gives(Gives::One(of::<PassedOnOut>())),
        post(
            "/sources/{id}/events/{event}/replay",
            INVOKE,
            "Send a recorded event again to its listeners of now",
            events::replay,
        )
        .takes(&[text("listener_id", "To this workflow, source or webhook alone")])
        .gives(Gives::One(of::<PassedOnOut>())),
        removal(delete(
            "/sources/{id}/events",
            DEPLOY,
            "Remove events",
            events::delete::<SourceId>,
        )),
        get(
            "/sources/{id}/sse",
            READ,
            "Events as they settle; `Last-Event-ID` resumes",
            sse::events::<SourceId>,
        )
        .takes(&[EVENT_NAME])
        .gives(Gives::Stream(const { &[("", of::<EmittedEventOut>())] }))
        .resumes(),
        logged(get("/sources/{id}/logs", READ, LOGS, runs::logs::<SourceId>)),
        get("/sources/{id}/logs/sse", READ, "Log lines as they are written", sse::logs::<SourceId>)
            .gives(Gives::Stream(LOG_EVENTS)),
        post("/sources/{id}/run", INVOKE, "Run it now", run_now)
            .takes(&[Param::new("event", Kind::Any, "The event")])
            .one(of::<RunOut>()),
        listed_runs(get("/sources/{id}/runs", READ, OWN_RUNS, runs::list::<SourceId>)),
        runs_sse(get("/sources/{id}/runs/sse", READ, RUNS_SSE, run_stream::runs::<SourceId>)),
    ]
}

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
    Ok(tagged(&view.tag, Fields::of(&params).data(SourceOut::show(&view, None, None))))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    IfMatch(over): IfMatch<RecordTag>,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let source = id("source", &source)?;
    back.check(&params, async {
        Ok(SourceOut::show(&app.engine.source(&caller, &source).await?, None, None))
    })
    .await?;
    check_made_props(&app, &caller, &source, &params).await?;
    let update = UpdateSource {
        code: code_of(&params)?,
        name: params.text("name")?,
        configured_props: params.object("configured_props")?,
        form: params.text("dynamic_props_id")?,
        active: params.flag("active")?,
        made_from: params.change("made_from")?,
        settings: settings(&params)?,
        message: params.text("message")?,
        over,
    };
    let view = app.engine.update_source(&caller, &source, update).await?;
    Ok(tagged(&view.tag, Fields::of(&params).data(SourceOut::show(&view, None, None))))
}

fn settings(params: &Params) -> Result<SettingsOfSource, ApiError> {
    let runs = |field: &str, max: u32| {
        let text = format!("`{field}` is not a number of runs; allowed are 1 to {max}, or `false`");
        params.parsed(field).map_err(|_| ApiError::field(field, text))
    };
    Ok(SettingsOfSource {
        calls_per_isolate: runs("calls_per_isolate", CALLS_PER_ISOLATE_MAX)?,
        concurrency: runs("concurrency", SOURCE_CONCURRENCY_MAX)?,
    })
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(source): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.source(&caller, &id("source", &source)?).await?;
    let id = view.source.id.as_str();
    let stats = own_stats(&app, &caller, id, &query.params).await?;
    let found = match &stats {
        Some(_) => Some(newest_of(&app, &caller, vec![id.to_owned()]).await?),
        None => None,
    };
    let newest = found.as_ref().map(|found| found.get(id));
    let shown = Fields::of(&query.params).data(SourceOut::show(&view, stats, newest));
    Ok(tagged(&view.tag, shown))
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
        let id = view.source.id.as_str();
        let newest = newest.as_ref().map(|found| found.get(id));
        SourceOut::show(&view, stats.as_ref().map(|stats| RunStatsOut::new(&stats.of(id))), newest)
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
    Ok(names::deleted(source.as_str()))
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
    Ok(Fields::of(&params).data(run_records::run(&run)))
}
