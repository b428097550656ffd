//! Apps and connected accounts.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::args::AccountCommand;
use crate::client::{Client, segment, value};
use crate::error::CliError;
use crate::terminal::printer::{self, Show};
use crate::terminal::{prompt, warnings};

/// How often it is looked whether somebody came back from a provider.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn accounts(
    client: &Client,
    show: Show,
    command: AccountCommand,
) -> Result<(), CliError> {
    const COLUMNS: &[(&str, &str)] = &[
        ("ID", "id"),
        ("APP", "app.name_slug"),
        ("NAME", "name"),
        ("HEALTHY", "healthy"),
        ("PROBLEM", "problem"),
    ];
    match command {
        AccountCommand::List { app } => {
            let filter = app.map_or_else(String::new, |app| format!("?app={}", segment(&app)));
            show.table(&client.whole(&format!("/accounts{filter}")).await?, COLUMNS)
        }
        AccountCommand::Add { app, name, wait } if uses_oauth(client, &app).await? => {
            let mut body = json!({ "app": app, "name": name });
            let fields = fields(client, &app).await?;
            if !fields.is_empty() {
                body["credentials"] = Value::Object(prompt::oauth_account(&fields)?);
            }
            let link = client.call(Method::POST, "/accounts/connect", &body).await?;
            let page = link["data"]["connect_url"].as_str().unwrap_or_default();
            if wait {
                printer::note(&format!("open this address in a browser: {page}"));
                return connected(client, show, &link["data"]).await;
            }
            printer::note(
                "open this address in a browser; `millrace accounts list` shows the account once you have logged in there",
            );
            if show.json { show.record(&link) } else { printer::data(page) }
        }
        AccountCommand::Add { app, name, .. } => {
            let account = connect(client, &app, name).await?;
            show.shaped(&json!({ "data": account }), without_warnings)
        }
        AccountCommand::Show { id } => {
            show.record(&client.get(&format!("/accounts/{}", segment(&id))).await?)
        }
        AccountCommand::Uses { id } => show.table(
            &client.get(&format!("/accounts/{}/uses", segment(&id))).await?,
            &[("KIND", "kind"), ("ID", "id"), ("NAME", "name")],
        ),
        AccountCommand::Check { id } => show.record(
            &client
                .call(Method::POST, &format!("/accounts/{}/check", segment(&id)), &json!({}))
                .await?,
        ),
        AccountCommand::Update { id, name } => {
            let account = client.get(&format!("/accounts/{}", segment(&id))).await?;
            let mut body = json!({ "name": name });
            if name.is_none() {
                let slug = account["data"]["app"]["name_slug"].as_str().unwrap_or_default();
                body["credentials"] = Value::Object(credentials(client, slug).await?);
            }
            let account =
                client.call(Method::PUT, &format!("/accounts/{}", segment(&id)), &body).await?;
            warnings::show(&account["data"], "");
            show.shaped(&account, without_warnings)
        }
        AccountCommand::Delete { id } => {
            show.record(&client.delete(&format!("/accounts/{}", segment(&id))).await?)
        }
    }
}

pub(super) async fn apps(client: &Client, show: Show, query: &str) -> Result<(), CliError> {
    let columns = [("SLUG", "name_slug"), ("NAME", "name"), ("AUTH", "auth_type")];
    show.table(&client.whole(&format!("/apps?q={}", segment(query))).await?, &columns)
}

/// Whether accounts of an app are connected in a browser: it is an OAuth app, and has the
/// operator's client.
async fn uses_oauth(client: &Client, app: &str) -> Result<bool, CliError> {
    let app = client.get(&format!("/apps/{}", segment(app))).await?;
    Ok(app["data"]["auth_type"] == "oauth" && !app["data"]["oauth"].is_null())
}

/// Shows the account of a connection once somebody came back from the provider.
async fn connected(client: &Client, show: Show, begun: &Value) -> Result<(), CliError> {
    let path = format!("/accounts/connect/{}", segment(begun["id"].as_str().unwrap_or_default()));
    loop {
        let connection = client.get(&path).await?;
        let text = |field: &str| connection["data"][field].as_str().unwrap_or_default();
        match text("status") {
            "connected" => {
                return show.record(
                    &client.get(&format!("/accounts/{}", segment(text("account_id")))).await?,
                );
            }
            "waiting" => {
                printer::waiting("waiting for the provider", tokio::time::sleep(LOOK)).await
            }
            _ => {
                return Err(CliError::NotConnected {
                    app: text("app").to_owned(),
                    why: text("problem").to_owned(),
                });
            }
        }
    }
}

/// Connects an account; its values are asked for, or read from standard input: a command line can
/// be seen by others.
pub(super) async fn connect(
    client: &Client,
    app: &str,
    name: Option<String>,
) -> Result<Value, CliError> {
    let credentials = credentials(client, app).await?;
    let mut answer = client
        .call(
            Method::POST,
            "/accounts",
            &json!({ "app": app, "name": name, "credentials": credentials }),
        )
        .await?;
    warnings::show(&answer["data"], "");
    Ok(value::take(&mut answer, "data"))
}

fn without_warnings(mut account: Value) -> Value {
    if let Some(fields) = account.as_object_mut() {
        fields.remove("warnings");
    }
    account
}

async fn credentials(client: &Client, app: &str) -> Result<Map<String, Value>, CliError> {
    prompt::account(&fields(client, app).await?)
}

/// The fields that an account of the app is asked for.
async fn fields(client: &Client, app: &str) -> Result<Vec<Value>, CliError> {
    let app = client.get(&format!("/apps/{}", segment(app))).await?;
    let fields = app["data"]["custom_fields_json"].as_str().unwrap_or("[]");
    Ok(millrace_model::json::from_str(fields).unwrap_or_default())
}
