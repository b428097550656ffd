//! Commands for sources.

use reqwest::Method;
use serde_json::json;

use super::event;
use crate::args::SourceCommand;
use crate::client::{Client, Kind, segment, value};
use crate::error::CliError;
use crate::terminal::printer::Show;

pub(super) async fn sources(
    client: &Client,
    show: Show,
    command: SourceCommand,
) -> Result<(), CliError> {
    match command {
        SourceCommand::Deployments { name } => {
            let mut answer = client
                .whole(&format!(
                    "{}/deployments",
                    client.resolve_kind(Kind::Source, &name).await?.path()
                ))
                .await?;
            if let (false, Some(newest)) = (show.json, answer["data"].get_mut(0)) {
                value::set(newest, "live", "live");
            }
            let columns = [
                ("ID", "id"),
                ("VERSION", "version"),
                ("CREATED", "created_at"),
                ("BY", "made_by.name"),
                ("", "live"),
                ("MESSAGE", "message"),
            ];
            show.table(&answer, &columns)
        }
        SourceCommand::Rollback { name, deployment, message } => {
            let target = client.resolve_kind(Kind::Source, &name).await?;
            let deployment = earlier(client, &target.path(), deployment.as_deref()).await?;
            let body = json!({ "deployment_id": deployment, "message": message });
            show.record(
                &client.call(Method::POST, &format!("{}/rollback", target.path()), &body).await?,
            )
        }
        SourceCommand::Emit { name, event, channel, summary } => {
            let body =
                json!({ "event": event::read(&event)?, "event_name": channel, "summary": summary });
            show.record(
                &client
                    .call(
                        Method::POST,
                        &format!(
                            "{}/events",
                            client.resolve_kind(Kind::Source, &name).await?.path()
                        ),
                        &body,
                    )
                    .await?,
            )
        }
        SourceCommand::Resend { name, event, to } => {
            let listener = match to {
                Some(to) if to.starts_with("wh_") => Some(to),
                Some(to) => Some(client.resolve(&to).await?.id),
                None => None,
            };
            let path = format!(
                "{}/events/{}/replay",
                client.resolve_kind(Kind::Source, &name).await?.path(),
                segment(&event)
            );
            show.record(
                &client.call(Method::POST, &path, &json!({ "listener_id": listener })).await?,
            )
        }
    }
}

/// A deployment by id or version; without one that before the live one, which is the newest.
async fn earlier(client: &Client, path: &str, named: Option<&str>) -> Result<String, CliError> {
    if let Some(id) = named.filter(|text| text.starts_with("d_")) {
        return Ok(id.to_owned());
    }
    let deployments = client.all(&format!("{path}/deployments")).await?;
    let found = match named.map(|version| version.trim_start_matches('v').parse::<i64>()) {
        None => deployments.get(1),
        Some(Ok(version)) => deployments.iter().find(|d| d["version"] == version),
        Some(Err(_)) => None,
    };
    found.and_then(|d| d["id"].as_str()).map(str::to_owned).ok_or_else(|| CliError::NoDeployment {
        message: match named {
            Some(text) => format!("the source has no deployment `{}`", segment(text)),
            None => "the source has no deployment before the live one".into(),
        },
        hint: "`millrace sources deployments NAME` lists them",
    })
}
