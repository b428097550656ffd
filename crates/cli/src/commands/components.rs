//! Sources and saved components.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::{code_body, parse_props};
use crate::client::{Client, Kind};
use crate::error::{CliError, missing};
use crate::files::Code;
use crate::printer::Show;
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
    let values = prompt::props(&names, &component["data"])?;
    for (name, value) in values {
        body["configured_props"][name] = value;
    }
    client.call(Method::POST, "/sources", &body).await
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
