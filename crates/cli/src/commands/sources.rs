//! Commands for sources.

use reqwest::Method;
use serde_json::json;

use super::event;
use crate::args::SourceCommand;
use crate::client::{Client, Kind, segment};
use crate::error::CliError;
use crate::terminal::printer::Show;

pub(super) async fn sources(client: &Client, show: Show, command: SourceCommand) -> Result<(), CliError> {
    match command {
        SourceCommand::Emit { name, event, channel, summary } => {
            let body = json!({ "event": event::read(&event)?, "event_name": channel, "summary": summary });
            show.record(&client.call(Method::POST, &format!("{}/events", client.resolve_kind(Kind::Source, &name).await?.path()), &body).await?)
        }
        SourceCommand::Resend { name, event, to } => {
            let listener = match to {
                Some(to) if to.starts_with("wh_") => Some(to),
                Some(to) => Some(client.resolve(&to).await?.id),
                None => None,
            };
            let path = format!("{}/events/{}/replay", client.resolve_kind(Kind::Source, &name).await?.path(), segment(&event));
            show.record(&client.call(Method::POST, &path, &json!({ "listener_id": listener })).await?)
        }
    }
}
