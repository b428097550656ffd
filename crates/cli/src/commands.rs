//! Commands and what they do. Exit status: 0 done, 1 refused or failed, 2 wrong use (clap).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::files::Code;
use crate::profile::Profile;
use crate::{dev, printer, stream, workflow_file};

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// Machine-readable output
    #[arg(long, global = true)]
    pub json: bool,
    /// A profile of the configuration file
    #[arg(short, long, global = true)]
    pub profile: Option<String>,
    /// The server
    #[arg(long, global = true, env = "MILLRACE_URL")]
    pub url: Option<String>,
    /// The API key; prefer the environment or a profile, a command line can be seen by others
    #[arg(long, global = true, env = "MILLRACE_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,
}

/// Commands that speak to a server.
#[derive(Subcommand, Debug)]
pub enum ClientCommand {
    /// Keep a server's address and key
    Login,
    /// Forget a kept key
    Logout,
    /// Deploy a source from a file, an address or a saved component
    #[command(after_help = "Example: millrace deploy rss.mjs --prop url=https://example.com/feed.xml --prop timer='{\"intervalSeconds\": 60}'")]
    Deploy {
        /// A file, an http(s) address, an `sc_` id or a published key
        what: String,
        /// The source's name
        #[arg(long)]
        name: Option<String>,
        /// A prop's value: name=value; JSON where it parses, else text
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Publish an action (or source) under its key
    Publish {
        /// The component's file
        file: PathBuf,
    },
    /// Take a published key away
    Unpublish {
        /// The key
        key: String,
    },
    /// Deploy a source and redeploy it on each save
    Dev {
        /// The source's file
        file: PathBuf,
        /// Attach to a deployed source
        #[arg(long)]
        dc: Option<String>,
        /// A prop's value: name=value
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Show a source's or workflow's emitted events
    Events {
        /// Id or name
        name: String,
        /// How many
        #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
        n: u32,
        /// Go on as they come
        #[arg(short)]
        follow: bool,
    },
    /// Show a source's or workflow's logs
    Logs {
        /// Id or name
        name: String,
        /// Go on as they come
        #[arg(short)]
        follow: bool,
    },
    /// List sources, components or workflows
    List {
        /// `sources` (so), `components` or `workflows`
        #[arg(value_parser = ["sources", "so", "components", "workflows"])]
        what: String,
    },
    /// Show a source or workflow
    Describe {
        /// Id or name
        name: String,
    },
    /// Change a source
    Update {
        /// Id or name
        name: String,
        /// New code: a file or address
        #[arg(long)]
        code: Option<String>,
        /// A new name
        #[arg(long = "name", value_name = "NAME")]
        new_name: Option<String>,
        /// Make it active
        #[arg(long, conflicts_with = "deactivate")]
        activate: bool,
        /// Make it inactive
        #[arg(long)]
        deactivate: bool,
        /// A prop's value: name=value
        #[arg(long = "prop", value_name = "NAME=VALUE")]
        props: Vec<String>,
    },
    /// Delete a source or workflow
    Delete {
        /// Id or name
        name: String,
    },
    /// Run a source now
    Run {
        /// Id or name
        name: String,
        /// The event, JSON
        #[arg(long)]
        event: Option<String>,
    },
    /// Workflows as files
    #[command(subcommand)]
    Workflows(WorkflowCommand),
    /// List a workflow's or source's runs
    Runs {
        /// Id or name; or a run's id, to show that run
        name: String,
    },
    /// List a workflow's errors with their events
    Errors {
        /// Id or name
        name: String,
    },
    /// Subscribe a listener to an emitter's stream
    Subscribe {
        /// Id of an organization, source or workflow, or `p_*`, `dc_*`
        emitter: String,
        /// Id of a workflow or source
        listener: String,
        /// The stream, such as `$errors`
        #[arg(default_value = "")]
        event_name: String,
    },
    /// End a subscription
    Unsubscribe {
        /// The emitter
        emitter: String,
        /// The listener
        listener: String,
        /// The stream
        #[arg(default_value = "")]
        event_name: String,
    },
    /// Show the outbox
    Mail,
}

/// Commands for workflows.
#[derive(Subcommand, Debug)]
pub enum WorkflowCommand {
    /// Make a workflow from a file, or update the one with its name, and deploy it
    Deploy {
        /// A workflow file (JSON)
        file: PathBuf,
    },
    /// Run a workflow's newest steps on an event as a test
    Test {
        /// Id or name
        name: String,
        /// The event, JSON
        #[arg(long, default_value = "{}")]
        event: String,
    },
    /// List deployments
    Deployments {
        /// Id or name
        name: String,
    },
    /// Make an earlier deployment live again
    Rollback {
        /// Id or name
        name: String,
        /// The deployment's id
        deployment: String,
    },
}

/// What failed, and what to do next.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    hint: String,
}

impl CliError {
    pub(crate) fn new(message: String, hint: impl Into<String>) -> Self {
        Self { message, hint: hint.into() }
    }

    pub(crate) fn print(&self) {
        printer::error(&self.message, Some(self.hint.as_str()).filter(|h| !h.is_empty()));
    }
}

/// Runs a command; errors are printed.
pub async fn run(command: ClientCommand, global: GlobalArgs) -> ExitCode {
    match run_command(command, &global).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.print();
            ExitCode::FAILURE
        }
    }
}

async fn run_command(command: ClientCommand, global: &GlobalArgs) -> Result<(), CliError> {
    match command {
        ClientCommand::Login => return login(global).await,
        ClientCommand::Logout => {
            let path = Profile::save(global.profile.as_deref().unwrap_or(""), None)?;
            printer::note(&format!("the key was removed from {}", path.display()));
            return Ok(());
        }
        _ => {}
    }
    let client = Client::new(Profile::find(global)?)?;
    let show = Show { json: global.json };
    match command {
        ClientCommand::Login | ClientCommand::Logout => Ok(()),
        ClientCommand::Deploy { what, name, props } => {
            let mut body = code_body(&what)?;
            body["name"] = json!(name);
            body["configured_props"] = Value::Object(parse_props(&props)?);
            show.record(&client.call(Method::POST, "/sources", &body).await?)
        }
        ClientCommand::Publish { file } => {
            let mut body = Code::read(&file)?.body();
            body["publish"] = json!(true);
            let published = client.call(Method::POST, "/components?exclude=code,configurable_props", &body).await?;
            show.record(&published)
        }
        ClientCommand::Unpublish { key } => show.record(&client.call(Method::DELETE, &format!("/components/{key}"), &json!({})).await?),
        ClientCommand::Dev { file, dc, props } => dev::dev(&client, &file, dc, parse_props(&props)?).await,
        ClientCommand::Events { name, n, follow } => events(&client, &show, &name, n, follow).await,
        ClientCommand::Logs { name, follow } => logs(&client, &show, &name, follow).await,
        ClientCommand::List { what } => list(&client, &show, &what).await,
        ClientCommand::Describe { name } => {
            let (kind, id) = client.resolve(&name).await?;
            show.record(&client.get(&format!("/{kind}/{id}")).await?)
        }
        ClientCommand::Update { name, code, new_name, activate, deactivate, props } => {
            let (kind, id) = client.resolve(&name).await?;
            let mut body = match code {
                Some(code) => code_body(&code)?,
                None => json!({}),
            };
            body["name"] = json!(new_name);
            if activate || deactivate {
                body["active"] = json!(activate);
            }
            if !props.is_empty() {
                body["configured_props"] = Value::Object(parse_props(&props)?);
            }
            show.record(&client.call(Method::PUT, &format!("/{kind}/{id}"), &body).await?)
        }
        ClientCommand::Delete { name } => {
            let (kind, id) = client.resolve(&name).await?;
            show.record(&client.call(Method::DELETE, &format!("/{kind}/{id}"), &json!({})).await?)
        }
        ClientCommand::Run { name, event } => {
            let (_, id) = client.resolve(&name).await?;
            let event = event.as_deref().map(parse_event).transpose()?;
            show.record(&client.call(Method::POST, &format!("/sources/{id}/run"), &json!({ "event": event })).await?)
        }
        ClientCommand::Workflows(command) => workflows(&client, &show, command).await,
        ClientCommand::Runs { name } if name.starts_with("run_") => show.record(&client.get(&format!("/runs/{name}")).await?),
        ClientCommand::Runs { name } => {
            let (kind, id) = client.resolve(&name).await?;
            show.table(&client.get(&format!("/{kind}/{id}/runs")).await?, &[("ID", "id"), ("STATUS", "status"), ("MS", "duration_ms"), ("ERROR", "error")])
        }
        ClientCommand::Errors { name } => {
            let (_, id) = client.resolve(&name).await?;
            show.lines(&client.get(&format!("/workflows/{id}/$errors/event_summaries?expand=event")).await?)
        }
        ClientCommand::Subscribe { emitter, listener, event_name } => subscription(&client, &show, Method::POST, [&emitter, &listener, &event_name]).await,
        ClientCommand::Unsubscribe { emitter, listener, event_name } => subscription(&client, &show, Method::DELETE, [&emitter, &listener, &event_name]).await,
        ClientCommand::Mail => {
            show.table(&client.get("/mail").await?, &[("STATUS", "status"), ("TO", "recipient"), ("SUBJECT", "subject"), ("ATTEMPTS", "attempts")])
        }
    }
}

/// How answers are shown.
struct Show {
    json: bool,
}

impl Show {
    #[expect(clippy::unnecessary_wraps, reason = "the last expression of commands")]
    fn record(&self, answer: &Value) -> Result<(), CliError> {
        printer::data(&if self.json { answer["data"].to_string() } else { printer::record(&answer["data"]) });
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the last expression of commands")]
    fn table(&self, answer: &Value, columns: &[(&str, &str)]) -> Result<(), CliError> {
        let rows = answer["data"].as_array().cloned().unwrap_or_default();
        printer::data(&if self.json { answer["data"].to_string() } else { printer::table(columns, &rows) });
        Ok(())
    }

    /// A JSON line for each item, oldest first.
    #[expect(clippy::unnecessary_wraps, reason = "the last expression of commands")]
    fn lines(&self, answer: &Value) -> Result<(), CliError> {
        for item in answer["data"].as_array().into_iter().flatten().rev() {
            printer::data(&item.to_string());
        }
        Ok(())
    }
}

async fn login(global: &GlobalArgs) -> Result<(), CliError> {
    let asked = |prompt: &str| -> Result<String, CliError> {
        dialoguer::Password::new()
            .with_prompt(prompt)
            .interact()
            .map_err(|e| CliError::new(format!("could not ask for the key: {e}"), "without a terminal, set MILLRACE_API_KEY"))
    };
    let api_key = match &global.api_key {
        Some(key) => key.clone(),
        None => asked("API key")?,
    };
    let url = global.url.clone().unwrap_or_else(|| "http://127.0.0.1:8787".into());
    let profile = Profile { url: url.trim_end_matches('/').to_owned(), api_key };
    let me = Client::new(profile.clone())?.get("/users/me").await?;
    let path = Profile::save(global.profile.as_deref().unwrap_or(""), Some(&profile))?;
    printer::note(&format!(
        "logged in as {} ({}); kept in {}",
        me["data"]["username"].as_str().unwrap_or(""),
        me["data"]["email"].as_str().unwrap_or(""),
        path.display()
    ));
    Ok(())
}

/// The part of a request that names code.
fn code_body(what: &str) -> Result<Value, CliError> {
    if what.starts_with("http://") || what.starts_with("https://") {
        return Ok(json!({ "component_url": what }));
    }
    if what.starts_with("sc_") {
        return Ok(json!({ "component_id": what }));
    }
    if Path::new(what).exists() || what.contains(['/', '.']) {
        return Ok(Code::read(Path::new(what))?.body());
    }
    Ok(json!({ "key": what }))
}

/// `name=value`: JSON where it parses, else text.
fn parse_props(props: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut parsed = Map::new();
    for prop in props {
        let (name, value) = prop.split_once('=').ok_or_else(|| CliError::new(format!("`{prop}` is not a prop"), "write --prop name=value"))?;
        parsed.insert(name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)));
    }
    Ok(parsed)
}

fn parse_event(text: &str) -> Result<Value, CliError> {
    serde_json::from_str(text).map_err(|e| CliError::new(format!("the event is not JSON: {e}"), "such as --event '{\"n\": 1}'"))
}

async fn events(client: &Client, show: &Show, name: &str, n: u32, follow: bool) -> Result<(), CliError> {
    let (kind, id) = client.resolve(name).await?;
    show.lines(&client.get(&format!("/{kind}/{id}/event_summaries?expand=event&limit={n}")).await?)?;
    if follow {
        stream::follow(client, &format!("/{kind}/{id}/sse"), |event| {
            printer::data(&event.to_string());
            true
        })
        .await?;
    }
    Ok(())
}

async fn logs(client: &Client, show: &Show, name: &str, follow: bool) -> Result<(), CliError> {
    let (kind, id) = client.resolve(name).await?;
    let line = |line: &Value| {
        if show.json {
            line.to_string()
        } else {
            format!("{} {:5} {}", line["run_id"].as_str().unwrap_or(""), line["level"].as_str().unwrap_or(""), line["text"].as_str().unwrap_or(""))
        }
    };
    for item in client.get(&format!("/{kind}/{id}/logs")).await?["data"].as_array().into_iter().flatten() {
        printer::data(&line(item));
    }
    if follow {
        stream::follow(client, &format!("/{kind}/{id}/logs/sse"), |item| {
            printer::data(&line(&item));
            true
        })
        .await?;
    }
    Ok(())
}

async fn list(client: &Client, show: &Show, what: &str) -> Result<(), CliError> {
    match what {
        "components" => show.table(
            &client.get("/components?limit=100&exclude=code").await?,
            &[("KEY", "key"), ("VERSION", "version"), ("TYPE", "type"), ("NAME", "name"), ("ID", "id")],
        ),
        "workflows" => show.table(&client.get("/workflows?limit=100").await?, &[("ID", "id"), ("NAME", "name_slug"), ("ACTIVE", "active")]),
        _ => show.table(&client.get("/users/me/sources?limit=100").await?, &[("ID", "id"), ("NAME", "name_slug"), ("ACTIVE", "active")]),
    }
}

async fn workflows(client: &Client, show: &Show, command: WorkflowCommand) -> Result<(), CliError> {
    match command {
        WorkflowCommand::Deploy { file } => {
            let mut body = workflow_file::read(&file)?;
            let name = body["name"].as_str().unwrap_or("").to_owned();
            if !body["settings"].is_object() {
                body["settings"] = json!({});
            }
            body["settings"]["auto_deploy"] = json!(true);
            let existing = if name.is_empty() { None } else { client.resolve(&name).await.ok().filter(|(kind, _)| *kind == "workflows") };
            let answer = match existing {
                Some((_, id)) => client.call(Method::PUT, &format!("/workflows/{id}"), &body).await?,
                None => client.call(Method::POST, "/workflows", &body).await?,
            };
            if show.json {
                return show.record(&answer);
            }
            let workflow = &answer["data"];
            printer::data(&format!("id: {}\nname: {}", workflow["id"].as_str().unwrap_or(""), workflow["name"].as_str().unwrap_or("")));
            for url in workflow["triggers"].as_array().into_iter().flatten().filter_map(|t| t["endpoint_url"].as_str()) {
                printer::data(&format!("endpoint: {url}"));
            }
            Ok(())
        }
        WorkflowCommand::Test { name, event } => {
            let (_, id) = client.resolve(&name).await?;
            show.record(&client.call(Method::POST, &format!("/workflows/{id}/test"), &json!({ "event": parse_event(&event)? })).await?)
        }
        WorkflowCommand::Deployments { name } => {
            let (_, id) = client.resolve(&name).await?;
            show.table(&client.get(&format!("/workflows/{id}/deployments")).await?, &[("ID", "id"), ("VERSION", "version"), ("CREATED", "created_at")])
        }
        WorkflowCommand::Rollback { name, deployment } => {
            let (_, id) = client.resolve(&name).await?;
            show.record(&client.call(Method::POST, &format!("/workflows/{id}/rollback"), &json!({ "deployment_id": deployment })).await?)
        }
    }
}

async fn subscription(client: &Client, show: &Show, method: Method, [emitter, listener, event_name]: [&str; 3]) -> Result<(), CliError> {
    let query = [("emitter_id", emitter), ("listener_id", listener), ("event_name", event_name)];
    show.record(&client.send(client.request(method, "/subscriptions").query(&query)).await?)
}
