//! `dev` of a workflow's folder: redeploys it on each save, shows its runs with their steps, and
//! its logs.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use notify::RecursiveMode;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::stream::{self, Follow};
use crate::client::{Client, segment};
use crate::commands::{Steps, deploy_file, endpoints, log_line};
use crate::dev::{SAVED, Saves};
use crate::error::CliError;
use crate::terminal::line::Line;
use crate::terminal::printer::{self, Show};
use crate::workflow::file::{self, WorkflowFile};

/// Runs that are remembered as shown: more than a connection that was lost begins with.
const SEEN_MAX: usize = 1000;
/// Files that are no part of the workflow.
const IGNORED: [&str; 3] = [".millrace.json", "node_modules", ".git"];

/// The workflow that the first deploy made or changed.
#[derive(Clone, Default)]
struct Deployed {
    id: String,
    /// When, by the server's clock, to the second: epoch milliseconds.
    at_ms: i64,
}

/// What is wrong with the folder at first is told too, and the next save tries again.
pub(crate) async fn dev(client: &Client, show: Show, path: &Path) -> Result<(), CliError> {
    let folder = if path.is_dir() { path.to_path_buf() } else { file::folder_of(path) };
    let folder = folder
        .canonicalize()
        .map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
    let (deployed, mut known) = watch::channel(None::<Deployed>);
    let shown = async {
        // The first deploy that works tells which workflow it is.
        let first = match known.wait_for(Option::is_some).await {
            Ok(first) => first.clone().unwrap_or_default(),
            Err(_) => return Ok(()),
        };
        let logs =
            Follow { path: format!("/workflows/{}/logs/sse", segment(&first.id)), after: None };
        let show_line = |line: Value| {
            printer::note(&log_line(&line));
            Ok(())
        };
        tokio::select! {
            done = runs(client, show, &first) => done,
            done = stream::follow(client, logs, show_line) => done,
        }
    };
    tokio::select! {
        done = redeploy_on_saves(client, show, path, &folder, &deployed) => done,
        done = shown => done,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn redeploy_on_saves(
    client: &Client,
    show: Show,
    path: &Path,
    folder: &Path,
    deployed: &watch::Sender<Option<Deployed>>,
) -> Result<(), CliError> {
    let mut saves = Saves::new(path)?;
    saves.watch(folder, RecursiveMode::Recursive)?;
    let (mut paths, mut says_it_watches) = (Vec::new(), false);
    loop {
        let started = Instant::now();
        match redeploy(client, path).await {
            Ok((file, workflow)) => {
                paths = file.paths;
                // What stands beside the folder is watched too.
                let outside: Vec<_> =
                    paths.iter().filter(|p| !p.starts_with(folder)).cloned().collect();
                saves.watch_files(&outside)?;
                report(&workflow, started.elapsed(), deployed);
            }
            Err(error) => {
                printer::error(&error, show.json);
                if deployed.borrow().is_none() && !std::mem::replace(&mut says_it_watches, true) {
                    printer::note("nothing is deployed yet; watching for saves, Ctrl-C ends this");
                }
            }
        }
        let counts = |saved: &Path| match saved.strip_prefix(folder) {
            Ok(below) => {
                !below.components().any(|part| IGNORED.iter().any(|name| part.as_os_str() == *name))
            }
            Err(_) => paths.iter().any(|p| p == saved),
        };
        saves.next(counts).await;
    }
}

async fn redeploy(client: &Client, path: &Path) -> Result<(WorkflowFile, Value), CliError> {
    let file = WorkflowFile::read(path)?;
    let workflow = deploy_file(client, &file, Some(SAVED)).await?;
    Ok((file, workflow))
}

fn report(workflow: &Value, took: Duration, deployed: &watch::Sender<Option<Deployed>>) {
    let id = workflow["id"].as_str().unwrap_or("").to_owned();
    let is_first = deployed.borrow().is_none();
    printer::note(&format!(
        "{} {} as {id} in {} ms",
        if is_first { "deployed" } else { "redeployed" },
        workflow["name"].as_str().unwrap_or(""),
        took.as_millis()
    ));
    if is_first {
        for url in endpoints(workflow) {
            printer::note(&format!("endpoint: {url}"));
        }
        printer::note("watching for saves; Ctrl-C ends this, the workflow stays deployed");
        // Nobody else sends.
        let at_ms = workflow["updated_at"].as_i64().unwrap_or(0).saturating_mul(1000);
        let _ = deployed.send(Some(Deployed { id, at_ms }));
    }
}

/// Shows runs since the deployment: that they began, each step as it ends, and how they ended.
async fn runs(client: &Client, show: Show, deployed: &Deployed) -> Result<(), CliError> {
    let follow = Follow {
        path: format!("/workflows/{}/runs/sse?from={}", segment(&deployed.id), deployed.at_ms),
        after: None,
    };
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let each = |kind: &str, data: Value| {
        let id = if kind == "run" { &data["id"] } else { &data["run_id"] };
        let seen_before = seen.entry(id.as_str().unwrap_or("").to_owned()).or_default();
        match kind {
            // A connection that was lost begins with what was shown before.
            _ if seen_before.is_over => {}
            "run" => show_run(show, &data, seen_before)?,
            "step" if !show.json => {
                if let Some(line) = seen_before.steps.ended(&data) {
                    say(Line::from("  ").and(line))?;
                }
            }
            _ => {}
        }
        if seen.len() > SEEN_MAX {
            seen.retain(|_, seen| !seen.is_over);
        }
        Ok(ControlFlow::Continue(()))
    };
    stream::follow_until(client, follow, each).await
}

/// What was shown of a run.
#[derive(Default)]
struct Seen {
    steps: Steps,
    is_told: bool,
    is_over: bool,
}

fn show_run(show: Show, run: &Value, seen: &mut Seen) -> Result<(), CliError> {
    let id = run["id"].as_str().unwrap_or("");
    let status = run["status"].as_str().unwrap_or("");
    seen.is_over = matches!(status, "succeeded" | "failed" | "cancelled");
    if show.json {
        return if seen.is_over { printer::data(&run.to_string()) } else { Ok(()) };
    }
    if !seen.is_told {
        seen.is_told = true;
        say(&format!("{id}  {}", event_line(&run["event"])))?;
    }
    for line in seen.steps.of_run(run) {
        say(Line::from("  ").and(line))?;
    }
    if seen.is_over {
        let took = run["duration_ms"].as_i64().map(|ms| format!(" in {ms} ms")).unwrap_or_default();
        let end = match status {
            "failed" => printer::red(&format!(
                "failed{took}: {}: {}",
                run["error"]["code"].as_str().unwrap_or(""),
                run["error"]["message"].as_str().unwrap_or("")
            )),
            other => Line::from(&format!("{other}{took}")),
        };
        say(Line::from("  ").and(end))?;
        for frame in run["error"]["stack"]
            .as_str()
            .unwrap_or("")
            .lines()
            .map(str::trim)
            .filter(|l| l.starts_with("at "))
            .take(3)
        {
            say(&format!("    {frame}"))?;
        }
    }
    Ok(())
}

/// Standard output may go elsewhere than standard error, which colours are made for.
fn say(line: impl Into<Line>) -> Result<(), CliError> {
    let line = line.into();
    if std::io::stdout().is_terminal() {
        printer::data(line)
    } else {
        printer::data(line.without_colours())
    }
}

/// An event in few words: of a request its first line.
fn event_line(event: &Value) -> String {
    match (event["method"].as_str(), event["path"].as_str()) {
        (Some(method), Some(path)) => {
            let query = event["query"]
                .as_object()
                .filter(|q| !q.is_empty())
                .map(|q| format!(" {}", Value::Object(q.clone())))
                .unwrap_or_default();
            shortened(&format!("{method} {path}{query}"))
        }
        _ => format!("event {}", shortened(&event.to_string())),
    }
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 160;
    if text.chars().count() <= CHARS_MAX {
        text.to_owned()
    } else {
        format!("{}…", text.chars().take(CHARS_MAX).collect::<String>())
    }
}
