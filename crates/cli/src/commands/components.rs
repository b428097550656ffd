//! Sources and saved components.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::{code_body, parse_props};
use crate::client::{Client, Kind, segment};
use crate::error::{CliError, missing};
use crate::files::Code;
use crate::printer::{self, Show};
use crate::prompt;

pub(super) struct Deploy {
    pub(super) what: String,
    pub(super) name: Option<String>,
    pub(super) props: Vec<String>,
}

pub(super) async fn deploy(client: &Client, show: Show, deploy: Deploy) -> Result<(), CliError> {
    let mut body = code_body(&deploy.what)?;
    body["name"] = json!(deploy.name);
    body["configured_props"] = Value::Object(parse_props(&deploy.props)?);
    show.record(&create_source(client, body).await?)
}

/// Asks on a terminal for the props that the server finds missing.
pub(crate) async fn create_source(client: &Client, mut body: Value) -> Result<Value, CliError> {
    let error = match client.call(Method::POST, "/sources", &body).await {
        Err(error) if prompt::can_ask() => error,
        answer => return answer,
    };
    let CliError::Refused { code, details, .. } = &error else { return Err(error) };
    let names = missing(details);
    if code != "missing_props" || names.is_empty() {
        return Err(error);
    }
    let component = client.call(Method::POST, "/components?exclude=code", &body).await?;
    let component = &component["data"];
    for name in names {
        let defs = component["configurable_props"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut def = defs.iter().find(|d| d["name"] == name).cloned().unwrap_or_default();
        if let Some(options) = options(client, component, &def, &body["configured_props"]).await? {
            def["options"] = options;
        }
        body["configured_props"][name] = prompt::prop(name, &def)?;
    }
    client.call(Method::POST, "/sources", &body).await
}

/// What a prop is chosen from where only the server knows: accounts of its app, or what its options method gives.
async fn options(client: &Client, component: &Value, def: &Value, values: &Value) -> Result<Option<Value>, CliError> {
    if def["type"] == "app" {
        let app = def["app"].as_str().unwrap_or_default();
        let mut accounts = client.get(&format!("/accounts?limit=100&app={}", segment(app))).await?["data"].as_array().cloned().unwrap_or_default();
        if accounts.is_empty() {
            printer::note(&format!("no account of {app} is connected yet; connect one now:"));
            accounts.push(super::accounts::connect(client, app, None).await?);
        }
        let choice = |account: &Value| json!({ "label": account["name"], "value": { "authProvisionId": account["id"] } });
        return Ok(Some(accounts.iter().map(choice).collect()));
    }
    if def["remoteOptions"] != true {
        return Ok(None);
    }
    let question = json!({ "id": component["id"], "prop_name": def["name"], "configured_props": values });
    let mut answer = client.call(Method::POST, "/components/configure", &question).await?;
    if let Some(error) = answer["errors"][0].as_str() {
        printer::note(&format!("the options could not be had ({error}); type the value"));
    }
    Ok(Some(answer["options"].take()))
}

pub(super) async fn publish(client: &Client, show: Show, file: &Path) -> Result<(), CliError> {
    let mut body = Code::read(file)?.body();
    body["publish"] = json!(true);
    show.record(&client.call(Method::POST, "/components?exclude=code,configurable_props", &body).await?)
}

pub(super) struct Update {
    pub(super) name: String,
    pub(super) code: Option<String>,
    pub(super) new_name: Option<String>,
    pub(super) active: Option<bool>,
    pub(super) props: Vec<String>,
}

pub(super) async fn update(client: &Client, show: Show, update: Update) -> Result<(), CliError> {
    const ONLY_SOURCES: &str = "a workflow's code is in its file: `millrace workflows deploy FILE`";
    if update.code.is_none() && update.new_name.is_none() && update.active.is_none() && update.props.is_empty() {
        return Err(CliError::Usage { message: "there is nothing to change".into(), hint: "give --code, --name, --activate, --deactivate or --prop" });
    }
    let target = client.resolve(&update.name).await?;
    if target.kind == Kind::Workflow && (update.code.is_some() || !update.props.is_empty()) {
        return Err(CliError::Usage { message: format!("`{}` is a workflow: it takes neither --code nor --prop", update.name), hint: ONLY_SOURCES });
    }
    let mut body = update.code.as_deref().map_or_else(|| Ok(json!({})), code_body)?;
    if let Some(name) = update.new_name {
        body["name"] = json!(name);
    }
    if let Some(active) = update.active {
        body["active"] = json!(active);
    }
    if !update.props.is_empty() {
        body["configured_props"] = Value::Object(parse_props(&update.props)?);
    }
    show.shaped(&client.call(Method::PUT, &target.path(), &body).await?, super::workflows::short)
}
