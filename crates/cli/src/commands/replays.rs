//! Replays of many runs.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::args::ReplayCommand;
use crate::client::{Client, Kind, segment};
use crate::error::CliError;
use crate::terminal::printer::{self, Show};

/// How often a replay that goes on is looked at.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn replays(
    client: &Client,
    show: Show,
    command: ReplayCommand,
) -> Result<(), CliError> {
    let change = async |id: &str, verb: &str| {
        show.record(
            &client
                .call(Method::POST, &format!("/replays/{}/{verb}", segment(id)), &json!({}))
                .await?,
        )
    };
    match command {
        ReplayCommand::Start {
            name,
            runs,
            class,
            group,
            from,
            to,
            from_step,
            from_failed,
            status,
            with_version,
            event,
            dry_run,
            detach,
        } => {
            let target = client.resolve(&name).await?;
            let owner = if target.kind == Kind::Source { "source_id" } else { "workflow_id" };
            let mut body = json!({ "from_step": from_step, "from_failed": from_failed, "version": with_version, "dry_run": dry_run });
            let mut which = if status.is_empty() {
                json!({ owner: target.id, "class": class, "group": group, "from": from, "to": to })
            } else {
                let filter = json!({ "owner_id": target.id, "status": status, "error_class": class, "group": group, "from": from, "to": to });
                json!({ "filter": filter })
            };
            if let (Some(body), Some(which)) = (body.as_object_mut(), which.as_object_mut()) {
                body.append(which);
            }
            if let Some(event) = event {
                body["event"] = super::event::read(&event)?;
            }
            if !runs.is_empty() {
                body["runs"] = json!(runs);
            }
            let made = client.call(Method::POST, "/replays", &body).await?;
            if detach || dry_run {
                return show.record(&made);
            }
            follow(client, show, made).await
        }
        ReplayCommand::List => {
            let columns = [
                ("ID", "id"),
                ("STATUS", "status"),
                ("TOTAL", "total"),
                ("REPLAYED", "replayed"),
                ("SKIPPED", "skipped"),
                ("CLASS", "selection.class"),
            ];
            show.table(&client.whole("/replays").await?, &columns)
        }
        ReplayCommand::Show { id } => {
            show.record(&client.get(&format!("/replays/{}", segment(&id))).await?)
        }
        ReplayCommand::Runs { id, n } => {
            let columns = [("RUN", "run_id"), ("STATUS", "status"), ("REPLAYS", "original_id")];
            show.table(
                &client.first(&format!("/replays/{}/runs", segment(&id)), n).await?,
                &columns,
            )
        }
        ReplayCommand::Pause { id } => change(&id, "pause").await,
        ReplayCommand::Resume { id } => change(&id, "resume").await,
        ReplayCommand::Cancel { id } => change(&id, "cancel").await,
    }
}

/// Tells how a replay goes until all its runs have ended, or it is held; interrupting the command
/// does not end the replay.
async fn follow(client: &Client, show: Show, made: Value) -> Result<(), CliError> {
    let id = made["data"]["id"].as_str().unwrap_or("").to_owned();
    let (mut now, mut told) = (made, String::new());
    loop {
        let replay = &now["data"];
        let line = progress(replay);
        if line != told {
            printer::note(&line);
            told = line;
        }
        let ended = replay["status"] != "running" && replay["runs"]["unfinished"] == 0;
        if ended || replay["status"] == "paused" {
            return show.record(&now);
        }
        tokio::time::sleep(LOOK).await;
        now = client.get(&format!("/replays/{}", segment(&id))).await?;
        // It would be waited for without end.
        if !(now["data"]["status"].is_string() && now["data"]["runs"]["unfinished"].is_i64()) {
            return Err(client.no_answer());
        }
    }
}

fn progress(replay: &Value) -> String {
    let runs = &replay["runs"];
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let done = number(&runs["succeeded"])
        .saturating_add(number(&runs["failed"]))
        .saturating_add(number(&runs["cancelled"]));
    let total = replay["total"]
        .as_i64()
        .map_or_else(|| "more than 100000".to_owned(), |total| total.to_string());
    format!(
        "{} {}: {done} of {total} done, {} failed, {} skipped",
        replay["id"].as_str().unwrap_or(""),
        replay["status"].as_str().unwrap_or(""),
        runs["failed"],
        replay["skipped"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_a_line() {
        let mut replay = json!({ "id": "rpl_1", "status": "running", "total": 7, "skipped": 1, "runs": { "unfinished": 2, "succeeded": 3, "failed": 1, "cancelled": 0 } });
        assert_eq!(progress(&replay), "rpl_1 running: 4 of 7 done, 1 failed, 1 skipped");
        replay["total"] = Value::Null;
        assert!(progress(&replay).contains("of more than 100000 done"));
    }
}
