//! Errors by their groups, and the state of a group.

use millrace_model::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::args::ErrorGroupCommand;
use crate::client::{Client, segment, value};
use crate::error::CliError;
use crate::terminal::printer::Show;

/// Errors by class, step and place.
pub(super) async fn list(
    client: &Client,
    show: Show,
    name: Option<&str>,
    state: Option<&str>,
) -> Result<(), CliError> {
    let mut path = match name {
        Some(name) => format!("{}/error_groups", client.resolve(name).await?.path()),
        None => "/error_groups".to_owned(),
    };
    if let Some(state) = state {
        path = format!("{path}?state={}", segment(state));
    }
    let mut answer = client.whole(&path).await?;
    if !show.json {
        for group in answer.get_mut("data").and_then(Value::as_array_mut).into_iter().flatten() {
            for field in ["first_seen_ms", "last_seen_ms"] {
                let at = json!(group[field].as_i64().map(|ms| Timestamp(ms).iso()));
                value::set(group, field, at);
            }
            let owner = [&group["workflow_id"], &group["source_id"]]
                .into_iter()
                .find(|id| id.is_string())
                .cloned();
            value::set(group, "owner", json!(owner));
        }
    }
    let columns = [
        ("ID", "id"),
        ("OF", "owner"),
        ("STATE", "state"),
        ("COUNT", "count"),
        ("CODE", "code"),
        ("STEP", "step"),
        ("FIRST SEEN", "first_seen_ms"),
        ("LAST SEEN", "last_seen_ms"),
        ("PLACE", "frame"),
        ("MESSAGE", "message"),
    ];
    show.table(&answer, &columns)
}

/// One group: shown, or given a state.
pub(super) async fn change(
    client: &Client,
    show: Show,
    command: ErrorGroupCommand,
) -> Result<(), CliError> {
    let (id, state, note) = match command {
        ErrorGroupCommand::Show { id } => {
            return show.record(&client.get(&format!("/error_groups/{}", segment(&id))).await?);
        }
        ErrorGroupCommand::Resolve { id, note } => (id, "resolved", note),
        ErrorGroupCommand::Ignore { id, note } => (id, "ignored", note),
        ErrorGroupCommand::Reopen { id, note } => (id, "open", note),
    };
    let mut body = json!({ "state": state });
    if let Some(note) = note {
        body["note"] = json!(note);
    }
    show.record(&client.call(Method::PUT, &format!("/error_groups/{}", segment(&id)), &body).await?)
}
