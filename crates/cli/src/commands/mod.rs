//! Execution of the commands: a file for each group.

mod accounts;
mod apply;
mod components;
mod data_stores;
mod error_groups;
mod event;
mod files;
mod follow;
mod history;
mod keys;
mod login;
mod operations;
mod plan;
mod pull;
mod registries;
mod replays;
mod sources;
mod webhooks;
mod workflows;

pub(crate) use components::create_source;
pub(crate) use follow::Steps;
pub(crate) use history::{FIRST_EVENT, log_line, summary_of};
pub(crate) use keys::seconds;
pub(crate) use operations::time_ms;
pub(crate) use workflows::{deploy_file, endpoints};

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use reqwest::Method;
use serde_json::{Map, Value, json};

use self::login::{login, logout, profiles};
use crate::args::{ClientCommand, GlobalArgs, Listed, SubscriptionArgs, SubscriptionCommand};
use crate::client::profile::Profile;
use crate::client::{Client, Kind, segment};
use crate::dev;
use crate::error::CliError;
use crate::files::{Code, init};
use crate::terminal::printer::Show;
use crate::terminal::{printer, prompt};
use crate::workflow::own_sources::delete_workflow;

/// Runs a command; errors are printed.
pub async fn run(command: ClientCommand, global: GlobalArgs) -> ExitCode {
    let global_json = global.json;
    match dispatch(command, &global).await {
        Ok(()) => ExitCode::SUCCESS,
        // Neither is a message for anybody.
        Err(error @ (CliError::OutputClosed | CliError::Interrupted)) => {
            ExitCode::from(error.exit_status())
        }
        // What differs was shown.
        Err(error @ CliError::Differs) => {
            printer::note(&error.to_string());
            ExitCode::from(error.exit_status())
        }
        Err(error) => {
            printer::error(&error, global_json);
            ExitCode::from(error.exit_status())
        }
    }
}

/// Commands that need no server come first, so that they work without a key.
async fn dispatch(command: ClientCommand, global: &GlobalArgs) -> Result<(), CliError> {
    match command {
        ClientCommand::Login => login(global).await,
        ClientCommand::Logout => logout(global),
        ClientCommand::Init(args) => init::init(Show { json: global.json }, &args, Path::new("")),
        ClientCommand::Profile(command) => profiles(Show { json: global.json }, &command),
        command => {
            if let ClientCommand::Workflows(command) = &command
                && let Some(done) = workflows::offline(command, Show { json: global.json })
            {
                return done;
            }
            let client = Client::new(Profile::find(global)?)?;
            with_server(command, &client, Show { json: global.json }).await
        }
    }
}

async fn with_server(command: ClientCommand, client: &Client, show: Show) -> Result<(), CliError> {
    match command {
        ClientCommand::Deploy { what, name, props, parallel } => {
            let what = match what {
                Some(what) => what,
                None => prompt::required("FILE", "File, address or key of the source")?,
            };
            components::deploy(client, show, components::Deploy { what, name, props, parallel })
                .await
        }
        ClientCommand::Publish { file } => components::publish(client, show, &file).await,
        ClientCommand::Unpublish { key } => {
            let key = component_key(&key)?;
            show.record(&client.delete(&format!("/components/{}", segment(key))).await?)
        }
        ClientCommand::Dev { file, dc, props } => {
            dev::dev(client, show, dev::Dev { file, attach: dc, props: parse_props(&props)? }).await
        }
        ClientCommand::Apply { folder, dry_run, yes, prune, adopt, force } => {
            apply::apply(client, show, apply::Apply { folder, dry_run, yes, prune, adopt, force })
                .await
        }
        ClientCommand::Events { name, n, text, follow } => {
            history::events(client, show, history::Events { name, limit: n, text, follow }).await
        }
        ClientCommand::Logs(args) => history::logs(client, show, args).await,
        ClientCommand::Find { words, n } => {
            let found =
                client.get(&format!("/search?q={}&limit={n}", segment(&words.join(" ")))).await?;
            show.table(
                &found,
                &[("KIND", "kind"), ("ID", "id"), ("NAME", "name"), ("ABOUT", "about")],
            )
        }
        ClientCommand::System(args) => operations::system(client, show, &args).await,
        ClientCommand::List { what } => list(client, show, what).await,
        ClientCommand::Describe { name } => {
            let target = client.resolve(&name).await?;
            show.shaped(&client.get(&target.path()).await?, workflows::short)
        }
        ClientCommand::Update { name, code, new_name, activate, deactivate, props, parallel } => {
            let active = (activate || deactivate).then_some(activate);
            components::update(
                client,
                show,
                components::Update { name, code, new_name, active, props, parallel },
            )
            .await
        }
        ClientCommand::Delete { name, dry_run } => {
            let target = client.resolve(&name).await?;
            if dry_run {
                let path = format!("{}?dry_run=true", target.path());
                return show.record(&client.delete(&path).await?);
            }
            show.record(&match target.kind {
                Kind::Workflow => delete_workflow(client, &target).await?,
                Kind::Source => client.delete(&target.path()).await?,
            })
        }
        ClientCommand::Run { name, event } => {
            let target = client.resolve(&name).await?;
            if target.kind == Kind::Workflow {
                return workflows::run(
                    client,
                    show,
                    &target.id,
                    event.as_deref().unwrap_or("{}"),
                    false,
                )
                .await;
            }
            let event = event.as_deref().map(event::read).transpose()?;
            history::finished_run(
                show,
                &client
                    .call(
                        Method::POST,
                        &format!("{}/run", target.path()),
                        &json!({ "event": event }),
                    )
                    .await?,
            )
        }
        ClientCommand::Workflows(command) => workflows::workflows(client, show, command).await,
        ClientCommand::Sources(command) => sources::sources(client, show, command).await,
        ClientCommand::Registry(command) => registries::registries(client, show, command).await,
        ClientCommand::Runs(command) => history::runs(client, show, command).await,
        ClientCommand::Subscriptions(command) => subscriptions(client, show, command).await,
        ClientCommand::Webhooks(command) => webhooks::webhooks(client, show, command).await,
        ClientCommand::Keys(command) => keys::keys(client, show, command).await,
        ClientCommand::SetupLink { email } => show
            .record(&client.call(Method::POST, "/setup_links", &json!({ "email": email })).await?),
        ClientCommand::Accounts(command) => accounts::accounts(client, show, command).await,
        ClientCommand::Apps { query } => accounts::apps(client, show, &query.join(" ")).await,
        ClientCommand::Errors { name, groups: false, .. } => {
            history::errors(client, show, name.as_deref().unwrap_or_default()).await
        }
        ClientCommand::Errors { name, groups: true, state } => {
            error_groups::list(client, show, name.as_deref(), state.as_deref()).await
        }
        ClientCommand::ErrorGroups(command) => error_groups::change(client, show, command).await,
        ClientCommand::Replays(command) => replays::replays(client, show, command).await,
        ClientCommand::DataStores(command) => data_stores::data_stores(client, show, command).await,
        ClientCommand::Files(command) => files::files(client, show, command).await,
        ClientCommand::OauthClients(command) => {
            operations::oauth_clients(client, show, command).await
        }
        ClientCommand::Export(args) => operations::export(client, args).await,
        ClientCommand::Retention(args) => operations::retention(client, show, args).await,
        ClientCommand::Organization(args) => operations::organization(client, show, args).await,
        ClientCommand::Audit(args) => operations::audit(client, show, args).await,
        ClientCommand::Mail { id, send, n } => {
            history::mail(client, show, id.as_deref(), send, n).await
        }
        // Answered before there is a client.
        ClientCommand::Login
        | ClientCommand::Logout
        | ClientCommand::Init(_)
        | ClientCommand::Profile(_) => Ok(()),
    }
}

async fn list(client: &Client, show: Show, what: Option<Listed>) -> Result<(), CliError> {
    let what = match what {
        Some(what) => what,
        None => prompt::chosen(
            "what to list",
            "List",
            &[
                ("sources", Listed::Sources),
                ("components", Listed::Components),
                ("workflows", Listed::Workflows),
                ("streams", Listed::Streams),
            ],
        )?,
    };
    match what {
        Listed::Streams => streams(client, show).await,
        Listed::Sources => show.table(
            &client.whole("/users/me/sources").await?,
            &[("ID", "id"), ("NAME", "name_slug"), ("ACTIVE", "active")],
        ),
        Listed::Components => {
            let columns = [
                ("KEY", "key"),
                ("VERSION", "version"),
                ("TYPE", "type"),
                ("NAME", "name"),
                ("ID", "id"),
            ];
            show.table(&client.whole("/components?exclude=code").await?, &columns)
        }
        Listed::Workflows => workflows::list(client, show).await,
    }
}

/// The key of `unpublish KEY` or `unpublish component KEY`.
fn component_key(words: &[String]) -> Result<&str, CliError> {
    match words {
        [key] => Ok(key),
        [kind, key] if kind == "component" => Ok(key),
        [kind, ..] => Err(CliError::Usage {
            message: format!("`{kind}` cannot be unpublished"),
            hint: "write `millrace unpublish component KEY`",
        }),
        [] => Err(CliError::Usage {
            message: "the key is missing".into(),
            hint: "write `millrace unpublish component KEY`",
        }),
    }
}

/// Everything that emits, with where its events can be read as they come.
async fn streams(client: &Client, show: Show) -> Result<(), CliError> {
    let mut rows = Vec::new();
    for kind in [Kind::Source, Kind::Workflow] {
        let list = if kind == Kind::Source { "/users/me/sources" } else { "/workflows" };
        for item in client.all(list).await? {
            let sse = format!(
                "{}/v1/{}/{}/sse",
                client.url(),
                kind.collection(),
                item["id"].as_str().unwrap_or("")
            );
            rows.push(json!({ "name": item["name_slug"], "type": kind.word(), "id": item["id"], "sse": sse }));
        }
    }
    show.table(&json!({ "data": rows }), &[("NAME", "name"), ("TYPE", "type"), ("SSE", "sse")])
}

async fn subscriptions(
    client: &Client,
    show: Show,
    command: SubscriptionCommand,
) -> Result<(), CliError> {
    let (method, args) = match command {
        SubscriptionCommand::Add(args) => (Method::POST, args),
        SubscriptionCommand::Delete(args) => (Method::DELETE, args),
        SubscriptionCommand::List => {
            let columns = [
                ("ID", "id"),
                ("EMITTER", "emitter_id"),
                ("LISTENER", "listener_id"),
                ("EVENT", "event_name"),
            ];
            return show.table(&client.get("/users/me/subscriptions").await?, &columns);
        }
    };
    let SubscriptionArgs { emitter, listener, event_name } = args;
    let emitter_id = party(client, emitter).await?;
    let listener_id = party(client, listener).await?;
    let query =
        [("emitter_id", emitter_id), ("listener_id", listener_id), ("event_name", event_name)];
    show.record(&client.send(client.request(method, "/subscriptions")?.query(&query)).await?)
}

/// An id as it is, a name by its id.
pub(crate) async fn party(client: &Client, name: String) -> Result<String, CliError> {
    // `p_*` and `dc_*` stand for all workflows and all sources.
    if ["o_", "wh_"].iter().any(|p| name.starts_with(p)) || name.ends_with("_*") {
        Ok(name)
    } else {
        Ok(client.resolve(&name).await?.id)
    }
}

/// The part of a request that names code.
fn code_body(what: &str) -> Result<Value, CliError> {
    if what.starts_with("http://") || what.starts_with("https://") {
        return Ok(json!({ "component_url": what }));
    }
    if what.starts_with("sc_") {
        return Ok(json!({ "component_id": what }));
    }
    // What stands behind an `@` is a version, and may have dots.
    let name = what.split('@').next().filter(|name| !name.is_empty()).unwrap_or(what);
    if Path::new(what).exists() || name.contains(['/', '.']) {
        return Ok(Code::read(Path::new(what))?.body());
    }
    Ok(json!({ "key": what }))
}

/// Values by name; one that is given several times is a list.
fn parse_props(props: &[String]) -> Result<Map<String, Value>, CliError> {
    let mut values: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for prop in props {
        match prop.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                values.entry(name).or_default().push(prop_value(value))
            }
            _ => {
                return Err(CliError::Usage {
                    message: format!("`{prop}` is not a prop"),
                    hint: "write --prop NAME=VALUE",
                });
            }
        }
    }
    let one_or_many = |mut values: Vec<Value>| {
        if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
    };
    Ok(values.into_iter().map(|(name, values)| (name.to_owned(), one_or_many(values))).collect())
}

/// JSON where it is an object, an array, a quoted string, true, false, null or a number that stays
/// the same when written again; else text, so that `007` and `1e3` are what was typed.
pub(crate) fn prop_value(text: &str) -> Value {
    match millrace_model::json::from_str::<Value>(text) {
        Ok(Value::Number(number)) if !stays(&number, text) => Value::from(text),
        Ok(value) => value,
        Err(_) => Value::from(text),
    }
}

/// Whether a number is written again as it was typed. It goes through `f64` and the integers, which
/// is what components read, and not through the digits that serde_json keeps where a crate of the
/// workspace asks it to.
fn stays(number: &serde_json::Number, text: &str) -> bool {
    let read =
        number.as_i64().map(|n| n.to_string()).or_else(|| number.as_u64().map(|n| n.to_string()));
    read.or_else(|| text.contains('.').then(|| number.as_f64().map(|n| n.to_string())).flatten())
        .is_some_and(|read| read == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_props_are_json_where_that_loses_nothing() {
        let value = |text| prop_value(text).to_string();
        assert_eq!(value("60"), "60");
        assert_eq!(value("{\"intervalSeconds\": 60}"), "{\"intervalSeconds\":60}");
        assert_eq!(value("true"), "true");
        for text in ["007", "1e3", "12345678901234567890123", "https://example.com/?a=b", ""] {
            assert_eq!(prop_value(text), Value::from(text), "{text}");
        }
        assert!(parse_props(&["a=b=c".into()]).is_ok_and(|p| p["a"] == "b=c"));
        assert_eq!(parse_props(&["=b".into()]).expect_err("refuses").exit_status(), 2);
    }
}
