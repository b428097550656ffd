//! Workflows.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::{history, parse_event};
use crate::args::WorkflowCommand;
use crate::client::{Client, Kind, Target};
use crate::error::CliError;
use crate::printer::{self, Show};
use crate::workflow_file;

pub(super) async fn workflows(client: &Client, show: Show, command: WorkflowCommand) -> Result<(), CliError> {
    let (name, then) = match &command {
        WorkflowCommand::Deploy { file } => return deploy(client, show, file).await,
        WorkflowCommand::List => return list(client, show).await,
        WorkflowCommand::Describe { name } | WorkflowCommand::Delete { name } => (name, ""),
        WorkflowCommand::Test { name, .. } => (name, "/test"),
        WorkflowCommand::Runs { name } => (name, "/runs?limit=20"),
        WorkflowCommand::Deployments { name } => (name, "/deployments"),
        WorkflowCommand::Rollback { name, .. } => (name, "/rollback"),
    };
    let path = format!("{}{then}", client.resolve_kind(Kind::Workflow, name).await?.path());
    match command {
        WorkflowCommand::Deploy { .. } | WorkflowCommand::List => Ok(()),
        WorkflowCommand::Describe { .. } => show.shaped(&client.get(&path).await?, short),
        WorkflowCommand::Delete { .. } => show.record(&client.call(Method::DELETE, &path, &json!({})).await?),
        WorkflowCommand::Test { event, up_to, .. } => {
            let body = json!({ "event": parse_event(&event)?, "up_to": up_to });
            history::finished_run(show, &client.call(Method::POST, &path, &body).await?)
        }
        WorkflowCommand::Runs { .. } => history::list_runs(client, show, &path).await,
        WorkflowCommand::Deployments { .. } => show.table(&client.get(&path).await?, &[("ID", "id"), ("VERSION", "version"), ("CREATED", "created_at")]),
        WorkflowCommand::Rollback { deployment, .. } => show.record(&client.call(Method::POST, &path, &json!({ "deployment_id": deployment })).await?),
    }
}

pub(super) async fn list(client: &Client, show: Show) -> Result<(), CliError> {
    show.table(&client.get("/workflows?limit=100").await?, &[("ID", "id"), ("NAME", "name_slug"), ("ACTIVE", "active")])
}

async fn deploy(client: &Client, show: Show, file: &Path) -> Result<(), CliError> {
    let mut body = workflow_file::read(file)?;
    let settings = body.entry("settings").or_insert_with(|| json!({}));
    let Some(settings) = settings.as_object_mut() else {
        return Err(CliError::WorkflowFile { path: file.to_path_buf(), problem: "`settings` is not an object".into() });
    };
    // A file that is deployed is to be live, on the first time as on the next.
    settings.insert("auto_deploy".into(), json!(true));
    let name = body.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
    let body = Value::Object(body);
    let answer = match existing(client, file, &name).await? {
        Some(target) => client.call(Method::PUT, &target.path(), &body).await?,
        None => client.call(Method::POST, "/workflows", &body).await?,
    };
    let workflow = &answer["data"];
    if let Err(error) = workflow_file::remember_id(file, client.url(), workflow["id"].as_str().unwrap_or("")) {
        // It is deployed all the same; next time it is found by its name.
        printer::note(&format!("warning: {error}"));
    }
    show.shaped(&answer, |w| {
        let endpoints: Vec<&Value> = w["triggers"].as_array().into_iter().flatten().map(|t| &t["endpoint_url"]).filter(|u| u.is_string()).collect();
        let mut shown = json!({ "id": w["id"], "name": w["name"], "active": w["active"], "deployment_id": w["deployment_id"] });
        match endpoints.as_slice() {
            [] => {}
            [one] => shown["endpoint_url"] = (*one).clone(),
            many => shown["endpoint_urls"] = json!(many),
        }
        shown
    })
}

/// The workflow that was made from the file on this server, else the one of its name.
async fn existing(client: &Client, file: &Path, name: &str) -> Result<Option<Target>, CliError> {
    if let Some(id) = workflow_file::known_id(file, client.url()) {
        let target = Target { kind: Kind::Workflow, id };
        match client.get(&target.path()).await {
            Ok(_) => return Ok(Some(target)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    if name.is_empty() { Ok(None) } else { client.find(Kind::Workflow, name).await }
}

/// A record for people: steps without their code and what can be read from it.
pub(super) fn short(mut record: Value) -> Value {
    for step in record.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        let props: Value = step["configured_props_json"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        *step = json!({ "namespace": step["namespace"], "id": step["id"], "component": step["savedComponent"]["key"], "disabled": step["disabled"], "props": props });
    }
    record
}
