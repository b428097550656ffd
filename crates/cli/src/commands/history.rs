//! Commands of the history: events, logs, runs, errors, mail.

use reqwest::Method;
use serde_json::{Value, json};

use crate::args::{LogArgs, RunCommand};
use crate::client::stream::{self, Follow};
use crate::client::{Client, segment, value};
use crate::error::CliError;
use crate::terminal::printer::{self, Show};

/// Before all events.
pub(crate) const FIRST_EVENT: &str = "0-0";

pub(super) struct Events {
    pub(super) name: String,
    pub(super) limit: u32,
    pub(super) text: Option<String>,
    pub(super) follow: bool,
}

/// A line for each event: its data, or with `--json` its summary.
pub(super) async fn events(client: &Client, show: Show, events: Events) -> Result<(), CliError> {
    let target = client.resolve(&events.name).await?;
    let text =
        events.text.as_deref().map(|text| format!("&q={}", segment(text))).unwrap_or_default();
    let answer = client
        .get(&format!(
            "{}/event_summaries?expand=event&limit={}{text}",
            target.path(),
            events.limit
        ))
        .await?;
    if show.json && !events.follow {
        return printer::data(&answer["data"].to_string());
    }
    let newest_first = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    for summary in newest_first.iter().rev() {
        printer::data(&event_line(show, summary))?;
    }
    if !events.follow {
        if newest_first.is_empty() {
            printer::note(if events.text.is_some() {
                "no event has this text"
            } else {
                "it has emitted nothing"
            });
        }
        return Ok(());
    }
    // Resuming after what was shown leaves no gap.
    let after =
        newest_first.first().and_then(|s| s["id"].as_str()).unwrap_or(FIRST_EVENT).to_owned();
    let follow = Follow { path: format!("{}/sse", target.path()), after: Some(after) };
    stream::follow(client, follow, |event| printer::data(&event_line(show, &summary_of(event))))
        .await
}

fn event_line(show: Show, summary: &Value) -> String {
    if show.json { summary.to_string() } else { summary["event"].to_string() }
}

/// A streamed event in the form of lists.
pub(crate) fn summary_of(mut event: Value) -> Value {
    let mut of = |field| value::take(&mut event, field);
    json!({ "id": of("id"), "indexed_at_ms": of("ts"), "event": of("e"), "metadata": { "name": of("name") } })
}

pub(super) async fn logs(client: &Client, show: Show, args: LogArgs) -> Result<(), CliError> {
    let LogArgs { name, follow, level, text, step, n } = args;
    let target = client.resolve(&name).await?;
    let given = [("level", level), ("text", text), ("step", step)];
    let filter: String = given
        .into_iter()
        .filter_map(|(name, value)| Some(format!("&{name}={}", segment(&value?))))
        .collect();
    let answer = client.get(&format!("{}/logs?limit={n}{filter}", target.path())).await?;
    if show.json && !follow {
        return printer::data(&answer["data"].to_string());
    }
    let line = |line: &Value| if show.json { line.to_string() } else { log_line(line) };
    for item in answer["data"].as_array().into_iter().flatten() {
        printer::data(&line(item))?;
    }
    if !follow {
        return Ok(());
    }
    let follow = Follow { path: format!("{}/logs/sse", target.path()), after: None };
    stream::follow(client, follow, |item| printer::data(&line(&item))).await
}

/// `run level text`; the text's further lines stand below it.
pub(crate) fn log_line(line: &Value) -> String {
    let text = |field: &str| line[field].as_str().unwrap_or("").to_owned();
    format!("{} {:5} {}", text("run_id"), text("level"), text("text")).trim_start().to_owned()
}

pub(super) async fn runs(client: &Client, show: Show, command: RunCommand) -> Result<(), CliError> {
    match command {
        RunCommand::List { name, status, n } => {
            let target = client.resolve(&name).await?;
            let status = status.map(|s| format!("?status={s}")).unwrap_or_default();
            list_runs(client, show, &format!("{}/runs{status}", target.path()), n).await
        }
        RunCommand::Search { text, status, n } => {
            let status = status.map(|s| format!("&status={s}")).unwrap_or_default();
            list_runs(client, show, &format!("/runs?q={}{status}", segment(&text)), n).await
        }
        RunCommand::Show { id } => {
            show.shaped(&client.get(&format!("/runs/{}", segment(&id))).await?, short_run)
        }
        RunCommand::Replay { id, from_step, from_failed, with_version, event } => {
            let mut body = json!({ "version": with_version });
            if let Some(event) = event {
                body["event"] = super::event::read(&event)?;
            }
            if let Some(step) = from_step {
                body["from_step"] = json!(step);
            }
            if from_failed {
                body["from_failed"] = json!(true);
            }
            show.shaped(
                &client
                    .call(Method::POST, &format!("/runs/{}/replay", segment(&id)), &body)
                    .await?,
                short_run,
            )
        }
        RunCommand::Resume { id, data } => {
            let data = data.map(|data| super::event::read(&data)).transpose()?;
            show.shaped(
                &client
                    .call(
                        Method::POST,
                        &format!("/runs/{}/resume", segment(&id)),
                        &json!({ "data": data }),
                    )
                    .await?,
                short_run,
            )
        }
        RunCommand::Cancel { id } => show.shaped(
            &client
                .call(Method::POST, &format!("/runs/{}/cancel", segment(&id)), &json!({}))
                .await?,
            short_run,
        ),
        RunCommand::CancelWaiting { name, status, from, to, dry_run } => {
            let owner = client.resolve(&name).await?.id;
            let filter = json!({ "owner_id": owner, "status": status, "from": from, "to": to });
            show.record(
                &client
                    .call(
                        Method::POST,
                        "/runs/cancel",
                        &json!({ "filter": filter, "dry_run": dry_run }),
                    )
                    .await?,
            )
        }
    }
}

pub(super) async fn list_runs(
    client: &Client,
    show: Show,
    path: &str,
    count: u32,
) -> Result<(), CliError> {
    let columns = [
        ("ID", "id"),
        ("STATUS", "status"),
        ("KIND", "kind"),
        ("MS", "duration_ms"),
        ("ERROR", "error.code"),
        ("MESSAGE", "error.message"),
    ];
    show.table(&client.first(path, count).await?, &columns)
}

/// Shows a run that was waited for; one that failed is a failure of the command.
pub(super) fn finished_run(show: Show, answer: &Value) -> Result<(), CliError> {
    show.shaped(answer, short_run)?;
    let run = &answer["data"];
    if run["status"] != "failed" {
        return Ok(());
    }
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    Err(CliError::RunFailed {
        id: text(&run["id"]),
        code: text(&run["error"]["code"]),
        message: text(&run["error"]["message"]),
    })
}

/// Shows a test with its steps and what it wrote to its log.
pub(super) async fn finished_test(
    client: &Client,
    show: Show,
    answer: &Value,
) -> Result<(), CliError> {
    let id = answer["data"]["id"].as_str().unwrap_or("");
    let whole = client.get(&format!("/runs/{}", segment(id))).await?;
    if !show.json {
        for step in whole["data"]["steps"].as_array().into_iter().flatten() {
            printer::note(super::follow::step_line(step));
        }
    }
    finished_run(show, &whole)
}

/// A run for people: what is empty is left out, logs are lines, what is long stands last.
pub(super) fn short_run(mut run: Value) -> Value {
    let Some(fields) = run.as_object_mut() else { return run };
    for name in ["context", "created_at_ms", "started_at_ms", "finished_at_ms"] {
        fields.shift_remove(name);
    }
    fields.retain(|_, value| !value.is_null() && value != &json!([]) && value != "");
    if let Some(logs) = fields.shift_remove("logs") {
        let lines: Vec<String> = logs.as_array().into_iter().flatten().map(log_line).collect();
        if !lines.is_empty() {
            // The line's end makes it a block even where there is one.
            fields.insert("logs".into(), Value::from(format!("{}\n", lines.join("\n"))));
        }
    }
    if let Some(error) = fields.shift_remove("error") {
        fields.insert("error".into(), error);
    }
    run
}

pub(super) async fn errors(client: &Client, show: Show, name: &str) -> Result<(), CliError> {
    let target = client.resolve(name).await?;
    let answer = client
        .get(&format!("{}/$errors/event_summaries?expand=event&limit=100", target.path()))
        .await?;
    if show.json {
        return printer::data(&answer["data"].to_string());
    }
    let newest_first = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    if newest_first.is_empty() {
        printer::note("it has no errors");
    }
    for summary in newest_first.iter().rev() {
        printer::data(&error_text(summary))?;
    }
    Ok(())
}

/// When, what and where, then the event that can be sent again.
fn error_text(summary: &Value) -> String {
    let event = &summary["event"];
    let error = &event["error"];
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let place = text(&error["stack"])
        .lines()
        .map(str::trim)
        .find(|l| l.starts_with("at "))
        .map(|l| format!("\n  {l}"))
        .unwrap_or_default();
    let head =
        format!("{} {}: {}", text(&error["ts"]), text(&error["code"]), text(&error["message"]));
    format!(
        "{head}{place}\n  trace {}\n  event {}",
        text(&event["original_context"]["trace_id"]),
        event["original_event"]
    )
}

pub(super) async fn mail(
    client: &Client,
    show: Show,
    id: Option<&str>,
    send: bool,
    count: u32,
) -> Result<(), CliError> {
    match id {
        None => show.table(
            &client.first("/mail", count).await?,
            &[("ID", "id"), ("STATUS", "status"), ("TO", "recipient"), ("SUBJECT", "subject")],
        ),
        Some(id) if send => show.record(
            &client.call(Method::POST, &format!("/mail/{}/send", segment(id)), &json!({})).await?,
        ),
        Some(id) => show.record(&client.get(&format!("/mail/{}", segment(id))).await?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_when_what_and_where() {
        let summary = json!({ "event": {
            "original_event": { "query": { "fail": "" } }, "original_context": { "trace_id": "t" },
            "error": { "code": "TypeError", "message": "asked to fail", "ts": "2026-01-02T03:04:05.678Z", "stack": "TypeError: asked to fail\n    at run (greet.mjs:8:1)" } } });
        let expected = "2026-01-02T03:04:05.678Z TypeError: asked to fail\n  at run (greet.mjs:8:1)\n  trace t\n  event {\"query\":{\"fail\":\"\"}}";
        assert_eq!(error_text(&summary), expected);
    }

    #[test]
    fn runs_end_with_logs_and_error() {
        let run = json!({ "id": "run_1", "error": { "code": "E" }, "context": {}, "trigger_id": "", "steps": [], "logs": [{ "ts": 1, "level": "log", "text": "a" }] });
        assert_eq!(
            printer::record(&short_run(run)),
            "id: run_1\nlogs:\n  log   a\nerror:\n  code: E"
        );
    }
}
