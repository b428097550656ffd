//! Sources and saved components.

use std::collections::BTreeSet;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::{code_body, parse_props};
use crate::args::Parallel;
use crate::client::{Client, Kind, segment, value};
use crate::error::CliError;
use crate::files::Code;
use crate::prop_hints::prop_problems;
use crate::terminal::printer::{self, Show};
use crate::terminal::prompt;

/// Questions that follow from answers, at most.
const ROUNDS_MAX: usize = 10;
/// Pages of options that are shown.
const PAGES_MAX: usize = 5;

pub(super) struct Deploy {
    pub(super) what: String,
    pub(super) name: Option<String>,
    pub(super) props: Vec<String>,
    pub(super) parallel: Parallel,
}

pub(super) async fn deploy(client: &Client, show: Show, deploy: Deploy) -> Result<(), CliError> {
    let mut body = code_body(&deploy.what)?;
    body["name"] = json!(deploy.name);
    body["configured_props"] = Value::Object(parse_props(&deploy.props)?);
    deploy.parallel.add_to(&mut body);
    show.record(&create_source(client, body).await?)
}

/// Asks on a terminal for the props that the server finds missing, and again for those whose answer
/// it does not take.
pub(crate) async fn create_source(client: &Client, mut body: Value) -> Result<Value, CliError> {
    let (mut component, mut asked) = (Value::Null, BTreeSet::new());
    // What is given may ask for more: `additionalProps`.
    for _ in 0..ROUNDS_MAX {
        let error = match client.call(Method::POST, "/sources", &body).await {
            Err(error) if prompt::can_ask() => error,
            answer => return answer,
        };
        let CliError::Refused { code, details, .. } = &error else { return Err(error) };
        let problems = prop_problems(details);
        let may_ask = |name: &str| asked.contains(name) || body["configured_props"][name].is_null();
        if !matches!(code.as_str(), "missing_props" | "invalid_props")
            || problems.is_empty()
            || !problems.iter().all(|(name, _)| may_ask(name))
        {
            return Err(error);
        }
        if component.is_null() {
            component = value::take(
                &mut client
                    .call(Method::POST, "/components?exclude=code,files", &only_code(&body))
                    .await?,
                "data",
            );
        }
        for (name, problem) in problems {
            if !asked.insert(name.to_owned()) {
                printer::note(problem);
                // A wrong answer is none to what is asked next.
                body["configured_props"][name].take();
            }
            let mut def = definition(client, &component, name, &mut body).await?;
            body["configured_props"][name] = match choice(client, &component, &def, &body).await? {
                Choice::Made(value) => value,
                Choice::Typed => prompt::prop(name, &def, false)?,
                Choice::Of { options, are_all } => {
                    value::set(&mut def, "options", options);
                    prompt::prop(name, &def, !are_all)?
                }
            };
        }
    }
    client.call(Method::POST, "/sources", &body).await
}

/// The part of a request that names code.
fn only_code(body: &Value) -> Value {
    let fields = body.as_object().into_iter().flatten();
    let is_code =
        |name: &str| name.starts_with("component_") || matches!(name, "key" | "language" | "url");
    Value::Object(
        fields
            .filter(|(name, _)| is_code(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// What a component says of a prop, or its `additionalProps` do: then the body names the form from
/// there on.
async fn definition(
    client: &Client,
    component: &Value,
    name: &str,
    body: &mut Value,
) -> Result<Value, CliError> {
    let of =
        |defs: &Value| defs.as_array().into_iter().flatten().find(|d| d["name"] == name).cloned();
    if let Some(def) = of(&component["configurable_props"]) {
        return Ok(def);
    }
    let question = json!({ "id": component["id"], "configured_props": body["configured_props"], "dynamic_props_id": body["dynamic_props_id"] });
    let answer = client.call(Method::POST, "/components/props", &question).await?;
    if answer["dynamic_props"]["id"].is_string() {
        body["dynamic_props_id"] = answer["dynamic_props"]["id"].clone();
    }
    Ok(of(&answer["dynamic_props"]["configurable_props"]).unwrap_or_default())
}

/// How a prop gets its value.
enum Choice {
    /// It is typed, or chosen from what its definition says.
    Typed,
    /// It is chosen from these, or typed where they may not be all.
    Of { options: Value, are_all: bool },
    /// There is nothing to choose.
    Made(Value),
}

/// What a prop is chosen from where only the server knows: accounts of its app, or what its options
/// method gives.
async fn choice(
    client: &Client,
    component: &Value,
    def: &Value,
    body: &Value,
) -> Result<Choice, CliError> {
    if def["type"] == "app" {
        let app = def["app"].as_str().unwrap_or_default();
        let value = |account: &Value| json!({ "authProvisionId": account["id"] });
        let accounts = client.all(&format!("/accounts?app={}", segment(app))).await?;
        if accounts.is_empty() {
            printer::note(&format!("no account of {app} is connected yet; connect one now:"));
            return Ok(Choice::Made(value(&super::accounts::connect(client, app, None).await?)));
        }
        let options = accounts
            .iter()
            .map(|account| json!({ "label": account["name"], "value": value(account) }))
            .collect();
        return Ok(Choice::Of { options, are_all: true });
    }
    if def["remoteOptions"] != true {
        return Ok(Choice::Typed);
    }
    let (options, are_all) = method_options(client, component, def, body).await?;
    Ok(Choice::Of { options, are_all })
}

/// What an options method gives, page by page, and whether that is all: a page with nothing new is
/// the end. A method that counts `page` gives no context, and one that knows of no pages gives the
/// same again.
async fn method_options(
    client: &Client,
    component: &Value,
    def: &Value,
    body: &Value,
) -> Result<(Value, bool), CliError> {
    let (mut all, mut context) = (Vec::<Value>::new(), Value::Null);
    for page in 0..PAGES_MAX {
        let question = json!({
            "id": component["id"], "prop_name": def["name"], "configured_props": body["configured_props"], "dynamic_props_id": body["dynamic_props_id"],
            "page": page, "prev_context": context,
        });
        let mut answer = client.call(Method::POST, "/components/configure", &question).await?;
        if let Some(error) = answer["errors"][0].as_str() {
            let which = if page == 0 { "the options" } else { "more options" };
            printer::note(&format!("{which} could not be loaded ({error}); type the value"));
            return Ok((Value::Array(all), false));
        }
        let known = all.len();
        for option in value::take(&mut answer, "options").as_array_mut().into_iter().flatten() {
            if all.iter().all(|other| other["value"] != option["value"]) {
                all.push(option.take());
            }
        }
        if all.len() == known {
            return Ok((Value::Array(all), true));
        }
        context = value::take(&mut answer, "context");
    }
    printer::note(&format!("these are the first {} options; there may be more", all.len()));
    Ok((Value::Array(all), false))
}

pub(super) async fn publish(client: &Client, show: Show, file: &Path) -> Result<(), CliError> {
    let mut body = Code::read(file)?.body();
    body["publish"] = json!(true);
    show.record(
        &client
            .call(Method::POST, "/components?exclude=code,files,configurable_props", &body)
            .await?,
    )
}

pub(super) struct Update {
    pub(super) name: String,
    pub(super) code: Option<String>,
    pub(super) new_name: Option<String>,
    pub(super) active: Option<bool>,
    pub(super) props: Vec<String>,
    pub(super) parallel: Parallel,
}

pub(super) async fn update(client: &Client, show: Show, update: Update) -> Result<(), CliError> {
    const ONLY_SOURCES: &str = "a workflow's code is in its file: `millrace workflows deploy FILE`";
    if update.code.is_none()
        && update.new_name.is_none()
        && update.active.is_none()
        && update.props.is_empty()
        && !update.parallel.is_some()
    {
        return Err(CliError::Usage {
            message: "there is nothing to change".into(),
            hint: "give --code, --name, --activate, --deactivate, --prop, --concurrency or --calls-per-isolate",
        });
    }
    let target = client.resolve(&update.name).await?;
    if target.kind == Kind::Workflow
        && (update.code.is_some() || !update.props.is_empty() || update.parallel.is_some())
    {
        return Err(CliError::Usage {
            message: format!(
                "`{}` is a workflow: it takes none of --code, --prop, --concurrency, --calls-per-isolate",
                update.name
            ),
            hint: ONLY_SOURCES,
        });
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
    update.parallel.add_to(&mut body);
    show.shaped(&client.call(Method::PUT, &target.path(), &body).await?, super::workflows::short)
}
