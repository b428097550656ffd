//! `/workflows`.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{
    DeployRequest, NewTest, NewWorkflow, SettingsRequest, StepRequest, TestEvent, TriggerRequest,
    UpdateWorkflow, WorkflowView,
};
use millrace_model::ids::{DeploymentId, InvalidId, WorkflowId};
use millrace_model::workflow::{Deployment, WorkflowTag};
use serde_json::{Value, json};

use crate::App;
use crate::error::ApiError;
use crate::extract::{Auth, IfMatch, ListQuery, Params, Path, Paths, id};
use crate::fields::{Fields, tagged};
use crate::v1::run_stats::{RunStatsOut, asked_stats, own_stats};
use crate::v1::workflow_records::{DeploymentOut, WorkflowOut, runs_of};
use crate::v1::{names, run_records};
use crate::written_back::WrittenBack;

fn settings(params: &Params) -> Result<Option<SettingsRequest>, ApiError> {
    match params.0.get("settings") {
        None | Some(Value::Null) => Ok(None),
        Some(settings) => Ok(Some(SettingsRequest::read(settings)?)),
    }
}

/// A workflow, with its entity tag.
fn shown(app: &App, fields: &Fields, view: &WorkflowView) -> Response {
    let shown = fields.data(WorkflowOut::show(view, &app.config, None));
    tagged(&WorkflowTag::of(&view.workflow), shown)
}

/// A list of tags, or a text of them with commas between: a tag may have blanks.
fn tags(params: &Params) -> Result<Option<Vec<String>>, ApiError> {
    match params.0.get("tags") {
        Some(Value::String(text)) => Ok(Some(
            text.split(',')
                .map(str::trim)
                .filter(|tag| !tag.is_empty())
                .map(str::to_owned)
                .collect(),
        )),
        _ => params.parsed("tags"),
    }
}

pub(crate) async fn create(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let settings = settings(&params)?.unwrap_or_default();
    let new = NewWorkflow {
        project_id: params.text("project_id")?,
        name: params.text("name")?,
        unique_name: params.flag("unique_name")?.unwrap_or(false),
        triggers: params.parsed::<Vec<TriggerRequest>>("triggers")?.unwrap_or_default(),
        steps: params.parsed::<Vec<StepRequest>>("steps")?.unwrap_or_default(),
        made_from: params.parsed("made_from")?,
        auto_deploy: settings.auto_deploy.unwrap_or(true),
        active: params.flag("active")?.unwrap_or(true),
        settings,
        message: params.text("message")?,
        note: params.text("note")?,
        tags: tags(&params)?.unwrap_or_default(),
    };
    Ok(shown(&app, &Fields::of(&params), &app.engine.create_workflow(&caller, new).await?))
}

pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    IfMatch(over): IfMatch,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let workflow = id("workflow", &workflow)?;
    back.check(&params, async {
        Ok(WorkflowOut::show(&app.engine.workflow(&caller, &workflow).await?, &app.config, None))
    })
    .await?;
    if params.0.contains_key("triggers") || params.0.contains_key("steps") {
        check_parts(
            &params,
            &WorkflowOut::show(&app.engine.workflow(&caller, &workflow).await?, &app.config, None),
        )?;
    }
    let settings = settings(&params)?;
    let update = UpdateWorkflow {
        active: params.flag("active")?,
        name: params.text("name")?,
        triggers: params.parsed("triggers")?,
        steps: params.parsed("steps")?,
        made_from: params.change("made_from")?,
        note: if params.0.get("note").is_some_and(Value::is_null) {
            Some(String::new())
        } else {
            params.text("note")?
        },
        tags: tags(&params)?,
        over,
        deploys: settings.as_ref().and_then(|s| s.auto_deploy).unwrap_or(false),
        settings,
        message: params.text("message")?,
    };
    let view = app.engine.update_workflow(&caller, &workflow, update).await?;
    Ok(shown(&app, &Fields::of(&params), &view))
}

/// What of a trigger and of a step can be set; other fields that a record shows of them are
/// read-only.
const OF_TRIGGERS: &[&str] = &[
    "type",
    "id",
    "props",
    "event_name",
    "customResponse",
    "custom_response",
    "auth",
    "intervalSeconds",
    "interval_seconds",
    "cron",
    "timezone",
];
const OF_STEPS: &[&str] = &[
    "namespace",
    "component_key",
    "component_id",
    "code",
    "code_files",
    "code_entry",
    "language",
    "props",
    "configured_props_json",
    "dynamic_props_id",
    "keep_secrets_of",
    "disabled",
    "note",
];

/// Refuses what triggers and steps that are written back say otherwise than the record, where an
/// update does not set it.
fn check_parts(params: &Params, record: &Value) -> Result<(), ApiError> {
    let find = |list: &str, fits: &dyn Fn(&Value) -> bool| {
        record[list].as_array()?.iter().find(|own| fits(own))
    };
    WrittenBack::check_items("triggers", params.0.get("triggers"), OF_TRIGGERS, |given| {
        find("triggers", &|own| own["id"] == given["id"] && own["type"] == given["type"])
    })?;
    // Two steps may have changed their names.
    WrittenBack::check_items("steps", params.0.get("steps"), OF_STEPS, |given| {
        find("steps", &|own| own["id"] == given["id"])
            .or_else(|| find("steps", &|own| own["namespace"] == given["namespace"]))
    })
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.workflow(&caller, &id("workflow", &workflow)?).await?;
    let stats = own_stats(&app, &caller, view.workflow.id.as_str(), &query.params).await?;
    let record = WorkflowOut::show(&view, &app.config, stats);
    Ok(tagged(&WorkflowTag::of(&view.workflow), Fields::of(&query.params).data(record)))
}

pub(crate) async fn list(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    query.params.org_is(&caller)?;
    let listing = app
        .engine
        .list_workflows(
            &caller,
            query.params.text("tag")?.filter(|tag| !tag.is_empty()).as_deref(),
            &query.page,
        )
        .await?;
    let stats = asked_stats(&app, &caller, &query.params).await?;
    Ok(Fields::of(&query.params).records(listing, |w| {
        let stats = stats.as_ref().map(|all| RunStatsOut::new(&all.of(w.workflow.id.as_str())));
        WorkflowOut::show(&w, &app.config, stats)
    }))
}

pub(crate) async fn remove(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    params: Params,
) -> Result<Response, ApiError> {
    if names::is_dry(&params)? {
        return Ok(names::would_go(
            &workflow,
            &app.engine.workflow_would_go(&caller, &id("workflow", &workflow)?).await?,
        ));
    }
    app.engine.delete_workflow(&caller, &id("workflow", &workflow)?).await?;
    Ok(names::deleted(workflow.as_str()))
}

pub(crate) async fn deploy(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    IfMatch(over): IfMatch,
    params: Params,
) -> Result<Response, ApiError> {
    let request = DeployRequest { message: params.text("message")?, over };
    let view = app.engine.deploy_workflow(&caller, &id("workflow", &workflow)?, request).await?;
    Ok(Fields::default().data(DeploymentOut::show(&view.deployment, Some(&view), None, None)))
}

pub(crate) async fn discard(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    IfMatch(over): IfMatch,
    params: Params,
) -> Result<Response, ApiError> {
    let view = app.engine.discard_draft(&caller, &id("workflow", &workflow)?, over).await?;
    Ok(shown(&app, &Fields::of(&params), &view))
}

pub(crate) async fn deployments(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let workflow = id("workflow", &workflow)?;
    let listing = app.engine.list_deployments(&caller, &workflow, &query.page).await?;
    let counted = match query.params.flag("runs")? {
        Some(true) => Some(app.engine.version_runs(&caller, workflow.as_str()).await?),
        _ => None,
    };
    let show = |d: Deployment| {
        let runs = counted.as_ref().map(|counted| runs_of(counted, &d.id));
        DeploymentOut::show(&d, None, None, runs)
    };
    Ok(Fields::of(&query.params).records(listing, show))
}

pub(crate) async fn deployment(
    State(app): State<App>,
    Auth(caller): Auth,
    Paths([workflow, deployment]): Paths<2>,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app
        .engine
        .deployment(&caller, &id("workflow", &workflow)?, &id("deployment", &deployment)?)
        .await?;
    Ok(Fields::of(&query.params).data(DeploymentOut::show(
        &view.deployment,
        Some(&view),
        Some(&app.config),
        None,
    )))
}

/// The deployment that a rollback names.
pub(crate) fn rolled_back_to(params: &Params) -> Result<DeploymentId, ApiError> {
    id("deployment", &params.needed("deployment_id")?)
}

pub(crate) async fn rollback(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    IfMatch(over): IfMatch,
    params: Params,
) -> Result<Response, ApiError> {
    let (workflow, to) = (id("workflow", &workflow)?, rolled_back_to(&params)?);
    let request = DeployRequest { message: params.text("message")?, over };
    let view = app.engine.rollback_workflow(&caller, &workflow, &to, request).await?;
    Ok(Fields::default().data(DeploymentOut::show(&view.deployment, Some(&view), None, None)))
}

pub(crate) async fn test(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let test = new_test(&params, Some(id("workflow", &workflow)?), UpdateWorkflow::default())?;
    let names_run = matches!(test.from, Some((_, Some(_))));
    let shows_history = names_run || !matches!(test.event, TestEvent::Given(_));
    let run = app.engine.test_workflow(&caller, test).await?;
    Ok(Fields::of(&params).data(if shows_history {
        run_records::run_named_by(&caller, &run)
    } else {
        run_records::run(&run)
    }))
}

/// What both tests take.
fn new_test(
    params: &Params,
    workflow: Option<WorkflowId>,
    changes: UpdateWorkflow,
) -> Result<NewTest, ApiError> {
    let event = test_event(params)?;
    let from = match (params.text("from_step")?, params.text("results_of")?) {
        (None, None) => None,
        (Some(step), run) => Some((step, run.map(|run| id("run", &run)).transpose()?)),
        (None, Some(_)) => {
            return Err(ApiError::field(
                "from_step",
                "`results_of` gives the results before a step; name it as `from_step`",
            ));
        }
    };
    let (pins, waits) =
        (params.object("pins")?.unwrap_or_default(), params.flag("wait")?.unwrap_or(true));
    Ok(NewTest { workflow, changes, event, up_to: params.text("up_to")?, from, pins, waits })
}

/// The event of a test, which is given once: itself, or by the run or the test event that had it.
fn test_event(params: &Params) -> Result<TestEvent, ApiError> {
    let is_given = |field: &&&str| params.0.get(**field).is_some_and(|given| !given.is_null());
    let given: Vec<&str> =
        ["event_id", "event_from_run", "event"].iter().filter(is_given).copied().collect();
    if let [first, second, ..] = given[..] {
        return Err(ApiError::field(
            second,
            format!("`{first}` and `{second}` exclude each other: give one of them"),
        ));
    }
    if let Some(run) = params.text("event_from_run")? {
        return Ok(TestEvent::OfRun(id("run", &run)?));
    }
    Ok(match params.text("event_id")? {
        Some(kept) => {
            let refused = |e: InvalidId| ApiError::field("event_id", e.to_string());
            TestEvent::Kept(kept.parse().map_err(refused)?)
        }
        None => TestEvent::Given(event_of(params)),
    })
}

/// What is kept nowhere: it needs a key that may deploy, for it brings its own code.
pub(crate) async fn test_new(
    State(app): State<App>,
    Auth(caller): Auth,
    params: Params,
) -> Result<Response, ApiError> {
    params.org_is(&caller)?;
    let changes = UpdateWorkflow {
        name: params.text("name")?,
        triggers: params.parsed("triggers")?,
        steps: params.parsed("steps")?,
        settings: settings(&params)?,
        ..UpdateWorkflow::default()
    };
    let workflow = params.text("workflow_id")?.map(|text| id("workflow", &text)).transpose()?;
    let test = new_test(&params, workflow, changes)?;
    let run = app.engine.test_workflow(&caller, test).await?;
    Ok(Fields::of(&params).data(run_records::run(&run)))
}

fn event_of(params: &Params) -> Value {
    params.0.get("event").cloned().unwrap_or_else(|| json!({}))
}

pub(crate) async fn run_now(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(workflow): Path,
    params: Params,
) -> Result<Response, ApiError> {
    let wait = params.flag("wait")?.unwrap_or(true);
    let run = app
        .engine
        .run_workflow(&caller, &id("workflow", &workflow)?, event_of(&params), wait)
        .await?;
    Ok(Fields::of(&params).data(run_records::run(&run)))
}
