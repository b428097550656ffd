//! Workflows.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::{event, follow, history};
use crate::args::WorkflowCommand;
use crate::client::{Client, Kind, Target, segment, value};
use crate::error::CliError;
use crate::files::schema;
use crate::terminal::printer::{self, Show};
use crate::workflow::deploy::{self, existing, named};
use crate::workflow::diff::differences;
use crate::workflow::file::{self, WorkflowFile};
use crate::workflow::init;
use crate::workflow::own_sources::{Mark, delete_workflow};
use crate::workflow::served::Served;

/// Commands that need no server.
pub(super) fn offline(command: &WorkflowCommand, show: Show) -> Option<Result<(), CliError>> {
    match command {
        WorkflowCommand::Init { name, timer } => {
            Some(init::init(show, name, *timer, Path::new("")))
        }
        WorkflowCommand::Schema => Some(printer::data(schema::WORKFLOW.trim_end())),
        _ => None,
    }
}

pub(super) async fn workflows(
    client: &Client,
    show: Show,
    command: WorkflowCommand,
) -> Result<(), CliError> {
    match command {
        // Answered before there is a client.
        WorkflowCommand::Init { .. } | WorkflowCommand::Schema => Ok(()),
        WorkflowCommand::Deploy { folder, message } => {
            deploy(client, show, &folder, message.as_deref()).await
        }
        WorkflowCommand::Pull { name, to, force } => {
            super::pull::pull(client, show, &name, to, force).await
        }
        WorkflowCommand::Diff { folder, name } => {
            diff(client, show, &folder, name.as_deref()).await
        }
        WorkflowCommand::List => list(client, show).await,
        WorkflowCommand::Describe { name } => {
            show.shaped(&client.get(&named(client, &name).await?.path()).await?, short)
        }
        WorkflowCommand::Delete { name } => {
            let target = named(client, &name).await?;
            show.record(&delete_workflow(client, &target).await?)
        }
        WorkflowCommand::Run { name, event, no_wait } => {
            run(client, show, &name, &event.event, no_wait).await
        }
        WorkflowCommand::Test { name, event, up_to, event_of, from_step, results_of, pins } => {
            let mut asked = json!({ "up_to": up_to, "from_step": from_step, "results_of": results_of, "event_from_run": event_of });
            if event_of.is_none() {
                asked["event"] = event::read(&event.event)?;
            }
            if !pins.is_empty() {
                asked["pins"] = pins
                    .iter()
                    .map(|pin| pinned(pin))
                    .collect::<Result<_, _>>()
                    .map(Value::Object)?;
            }
            test(client, show, &name, asked).await
        }
        WorkflowCommand::Runs { name, n } => {
            history::list_runs(
                client,
                show,
                &format!("{}/runs", named(client, &name).await?.path()),
                n,
            )
            .await
        }
        WorkflowCommand::Deployments { name } => {
            let path = named(client, &name).await?.path();
            let live = client.get(&format!("{path}?include=deployment_id")).await?["data"]["deployment_id"].clone();
            let mut answer = client.whole(&format!("{path}/deployments?runs=true")).await?;
            if !show.json {
                for deployment in
                    answer.get_mut("data").and_then(Value::as_array_mut).into_iter().flatten()
                {
                    let mark = if deployment["id"] == live { "live" } else { "" };
                    value::set(deployment, "live", mark);
                }
            }
            show.table(
                &answer,
                &[
                    ("ID", "id"),
                    ("VERSION", "version"),
                    ("CREATED", "created_at"),
                    ("BY", "made_by.name"),
                    ("SUCCEEDED", "runs.succeeded"),
                    ("FAILED", "runs.failed"),
                    ("", "live"),
                    ("MESSAGE", "message"),
                ],
            )
        }
        WorkflowCommand::Rollback { name, deployment, message } => {
            let target = named(client, &name).await?;
            let deployment = earlier(client, &target, deployment.as_deref()).await?;
            let body = json!({ "deployment_id": deployment, "message": message });
            show.record(
                &client.call(Method::POST, &format!("{}/rollback", target.path()), &body).await?,
            )
        }
    }
}

pub(super) async fn list(client: &Client, show: Show) -> Result<(), CliError> {
    show.table(
        &client.whole("/workflows").await?,
        &[("ID", "id"), ("NAME", "name_slug"), ("ACTIVE", "active")],
    )
}

/// Deploys a folder's workflow and remembers which one it is. Gives its record.
pub(crate) async fn deploy_file(
    client: &Client,
    file: &WorkflowFile,
    message: Option<&str>,
) -> Result<Value, CliError> {
    let target = existing(client, file).await?;
    let workflow =
        deploy::deploy(client, file, target.as_ref(), &Mark::alone(&file.name), message).await?;
    if let Err(error) = file.remember_id(client.url(), workflow["id"].as_str().unwrap_or("")) {
        // It is deployed all the same; next time it is found by its name.
        printer::note(&format!("warning: {error}"));
    }
    Ok(workflow)
}

async fn deploy(
    client: &Client,
    show: Show,
    folder: &Path,
    message: Option<&str>,
) -> Result<(), CliError> {
    let file = WorkflowFile::read(folder)?;
    let workflow = deploy_file(client, &file, message).await?;
    show.shaped(&json!({ "data": workflow }), |w| {
        let endpoints = endpoints(&w);
        let mut shown = json!({ "id": w["id"], "name": w["name"], "active": w["active"], "deployment_id": w["deployment_id"] });
        match endpoints.as_slice() {
            [] => {}
            [one] => shown["endpoint_url"] = json!(one),
            many => shown["endpoint_urls"] = json!(many),
        }
        shown
    })
}

/// The addresses of a workflow's endpoints.
pub(crate) fn endpoints(workflow: &Value) -> Vec<&str> {
    workflow["triggers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| t["endpoint_url"].as_str())
        .collect()
}

async fn diff(
    client: &Client,
    show: Show,
    folder: &Path,
    name: Option<&str>,
) -> Result<(), CliError> {
    let file = WorkflowFile::read(folder)?;
    let target = match name {
        Some(name) => client.resolve_kind(Kind::Workflow, name).await?,
        None => existing(client, &file)
            .await?
            .ok_or_else(|| CliError::NotDeployed { name: file.name.clone() })?,
    };
    let found = differences(&file, &Served::fetch(client, &target).await?);
    if show.json {
        let shown: Vec<Value> =
            found.iter().map(|d| json!({ "file": d.file, "diff": d.unified() })).collect();
        printer::data(&json!(shown).to_string())?;
    } else {
        for difference in &found {
            printer::diff(&difference.unified())?;
        }
    }
    if found.is_empty() {
        printer::note("the folder and the deployed version are the same");
        return Ok(());
    }
    Err(CliError::Differs)
}

pub(super) async fn run(
    client: &Client,
    show: Show,
    name: &str,
    event: &str,
    no_wait: bool,
) -> Result<(), CliError> {
    let event = event::read(event)?;
    let target = named(client, name).await?;
    let answer = client
        .call(
            Method::POST,
            &format!("{}/run", target.path()),
            &json!({ "event": event, "wait": false }),
        )
        .await?;
    if no_wait {
        return show.shaped(&answer, |run| json!({ "id": run["id"], "status": run["status"] }));
    }
    let id = answer["data"]["id"].as_str().unwrap_or("").to_owned();
    follow::run(client, show, &id).await
}

/// A step with what it exports.
fn pinned(text: &str) -> Result<(String, Value), CliError> {
    let pin = text.split_once('=').and_then(|(step, exports)| {
        Some((step.to_owned(), millrace_model::json::from_str::<Value>(exports).ok()?))
    });
    pin.ok_or_else(|| CliError::Usage {
        message: format!("`{text}` is not a pin"),
        hint: "write --pin 'STEP={\"$return_value\": …}'",
    })
}

async fn test(client: &Client, show: Show, name: &str, mut body: Value) -> Result<(), CliError> {
    let path = Path::new(name);
    if !file::is_there(path) {
        let target = client.resolve_kind(Kind::Workflow, name).await?;
        let answer = client.call(Method::POST, &format!("{}/test", target.path()), &body).await?;
        return history::finished_test(client, show, &answer).await;
    }
    let file = WorkflowFile::read(path)?;
    body["name"] = json!(file.name);
    body["steps"] = json!(file.steps()?);
    body["settings"] = json!(file.settings());
    if let Some(target) = existing(client, &file).await? {
        body["workflow_id"] = json!(target.id);
    }
    let answer = client.call(Method::POST, "/workflows/test", &body).await?;
    history::finished_test(client, show, &answer).await
}

/// A deployment by id or version; without one that before the live one.
async fn earlier(
    client: &Client,
    target: &Target,
    named: Option<&str>,
) -> Result<String, CliError> {
    if let Some(id) = named.filter(|text| text.starts_with("d_")) {
        return Ok(id.to_owned());
    }
    let deployments = client.all(&format!("{}/deployments", target.path())).await?;
    let live = client.get(&target.path()).await?["data"]["deployment_id"].clone();
    let live = deployments.iter().find(|d| d["id"] == live).and_then(|d| d["version"].as_i64());
    let wanted = match named {
        Some(version) => version.trim_start_matches('v').parse::<i64>().ok(),
        None => live.map(|version| version.saturating_sub(1)),
    };
    let found = deployments
        .iter()
        .find(|d| wanted.is_some() && d["version"].as_i64() == wanted)
        .and_then(|d| d["id"].as_str());
    found.map(str::to_owned).ok_or_else(|| CliError::NoDeployment {
        message: match named {
            Some(text) => format!("the workflow has no deployment `{}`", segment(text)),
            None => "the workflow has no deployment before the live one".into(),
        },
        hint: "`millrace workflows deployments NAME` lists them",
    })
}

/// A record for people: steps without their code and what can be read from it.
pub(super) fn short(mut record: Value) -> Value {
    for step in record.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        let props: Value = step["configured_props_json"]
            .as_str()
            .and_then(|text| millrace_model::json::from_str(text).ok())
            .unwrap_or_default();
        *step = json!({ "namespace": step["namespace"], "id": step["id"], "component": step["savedComponent"]["key"], "disabled": step["disabled"], "props": props });
    }
    record
}
