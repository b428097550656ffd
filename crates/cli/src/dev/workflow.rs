//! `dev` of a workflow's folder: redeploys it on each save, shows its runs with their steps, and its logs.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{Duration, Instant};

use notify::RecursiveMode;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::stream::{self, Follow};
use crate::client::{Client, segment};
use crate::commands::{deploy_file, endpoints, log_line, step_line};
use crate::dev::Saves;
use crate::error::CliError;
use crate::terminal::printer::{self, Show};
use crate::workflow::file::{self, WorkflowFile};

/// Between two looks at the runs.
const LOOK: Duration = Duration::from_millis(250);
/// After a look that failed.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Files that are no part of the workflow.
const IGNORED: [&str; 3] = [".millrace.json", "node_modules", ".git"];

/// What is wrong with the folder at first is told too, and the next save tries again.
pub(crate) async fn dev(client: &Client, show: Show, path: &Path) -> Result<(), CliError> {
    let folder = if path.is_dir() { path.to_path_buf() } else { file::folder_of(path) };
    let folder = folder.canonicalize().map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
    let (deployed, mut known) = watch::channel(None::<String>);
    let shown = async {
        // The first deploy that works tells which workflow it is.
        let id = match known.wait_for(Option::is_some).await {
            Ok(id) => id.clone().unwrap_or_default(),
            Err(_) => return Ok(()),
        };
        let logs = Follow { path: format!("/workflows/{}/logs/sse", segment(&id)), after: None };
        let show_line = |line: Value| {
            printer::note(&log_line(&line));
            Ok(())
        };
        tokio::select! {
            done = runs(client, show, &id) => done,
            done = stream::follow(client, logs, show_line) => done,
        }
    };
    tokio::select! {
        done = redeploy_on_saves(client, path, &folder, &deployed) => done,
        done = shown => done,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn redeploy_on_saves(client: &Client, path: &Path, folder: &Path, deployed: &watch::Sender<Option<String>>) -> Result<(), CliError> {
    let mut saves = Saves::new(path)?;
    saves.watch(folder, RecursiveMode::Recursive)?;
    let mut paths = Vec::new();
    loop {
        let started = Instant::now();
        match redeploy(client, path).await {
            Ok((file, workflow)) => {
                paths = file.paths;
                // What stands beside the folder is watched too.
                let outside: Vec<_> = paths.iter().filter(|p| !p.starts_with(folder)).cloned().collect();
                saves.watch_files(&outside)?;
                tell(&workflow, started.elapsed(), deployed);
            }
            Err(error) => printer::error(&error, false),
        }
        let counts = |saved: &Path| match saved.strip_prefix(folder) {
            Ok(below) => !below.components().any(|part| IGNORED.iter().any(|name| part.as_os_str() == *name)),
            Err(_) => paths.iter().any(|p| p == saved),
        };
        saves.next(counts).await;
    }
}

async fn redeploy(client: &Client, path: &Path) -> Result<(WorkflowFile, Value), CliError> {
    let file = WorkflowFile::read(path)?;
    let workflow = deploy_file(client, &file).await?;
    Ok((file, workflow))
}

fn tell(workflow: &Value, took: Duration, deployed: &watch::Sender<Option<String>>) {
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
        let _ = deployed.send(Some(id));
    }
}

/// Shows runs from now on: that they began, each step as it ends, and how they ended.
async fn runs(client: &Client, show: Show, id: &str) -> Result<(), CliError> {
    let list = format!("/workflows/{}/runs", segment(id));
    let newest = client.get(&format!("{list}?limit=1")).await?;
    let mut from = newest["data"][0]["created_at_ms"].as_i64().unwrap_or(0);
    let mut seen: HashMap<String, Seen> = HashMap::new();
    for run in newest["data"].as_array().into_iter().flatten() {
        seen.insert(run["id"].as_str().unwrap_or("").to_owned(), Seen { steps: 0, is_over: true });
    }
    loop {
        let answer = match client.get(&format!("{list}?limit=100&from={from}")).await {
            Ok(answer) => answer,
            // The stream of logs says that the server is away.
            Err(CliError::Unreachable { .. } | CliError::Refused { status: 500.., .. }) => {
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        let newest_first = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        for run in newest_first.iter().rev() {
            let seen = seen.entry(run["id"].as_str().unwrap_or("").to_owned()).or_default();
            if !seen.is_over {
                show_run(show, run, seen)?;
            }
        }
        // Runs before the oldest that goes on are not looked at again.
        let oldest = newest_first
            .iter()
            .filter(|r| seen.get(r["id"].as_str().unwrap_or("")).is_some_and(|s| !s.is_over))
            .filter_map(|r| r["created_at_ms"].as_i64())
            .min();
        from = oldest.or_else(|| newest_first.iter().filter_map(|r| r["created_at_ms"].as_i64()).max()).unwrap_or(from);
        if seen.len() > 1000 {
            seen.retain(|id, _| newest_first.iter().any(|r| r["id"] == id.as_str()));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What was shown of a run.
#[derive(Default)]
struct Seen {
    steps: usize,
    is_over: bool,
}

fn show_run(show: Show, run: &Value, seen: &mut Seen) -> Result<(), CliError> {
    let id = run["id"].as_str().unwrap_or("");
    let status = run["status"].as_str().unwrap_or("");
    seen.is_over = matches!(status, "succeeded" | "failed" | "cancelled");
    if show.json {
        return if seen.is_over { printer::data(&run.to_string()) } else { Ok(()) };
    }
    let steps = run["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    if seen.steps == 0 && (seen.is_over || !steps.is_empty()) {
        say(&format!("{id}  {}", event_line(&run["event"])))?;
    }
    for step in steps.iter().skip(seen.steps) {
        say(&format!("  {}", step_line(step)))?;
    }
    seen.steps = seen.steps.max(steps.len());
    if seen.is_over {
        let took = run["duration_ms"].as_i64().map(|ms| format!(" in {ms} ms")).unwrap_or_default();
        let end = match status {
            "failed" => {
                printer::red(&format!("failed{took}: {}: {}", run["error"]["code"].as_str().unwrap_or(""), run["error"]["message"].as_str().unwrap_or("")))
            }
            other => format!("{other}{took}"),
        };
        say(&format!("  {end}"))?;
        for frame in run["error"]["stack"].as_str().unwrap_or("").lines().map(str::trim).filter(|l| l.starts_with("at ")).take(3) {
            say(&format!("    {frame}"))?;
        }
    }
    Ok(())
}

/// Standard output may go elsewhere than standard error, which colours are made for.
fn say(line: &str) -> Result<(), CliError> {
    if std::io::stdout().is_terminal() { printer::data(line) } else { printer::data(&console::strip_ansi_codes(line)) }
}

/// An event in few words: of a request its first line.
fn event_line(event: &Value) -> String {
    match (event["method"].as_str(), event["path"].as_str()) {
        (Some(method), Some(path)) => {
            let query = event["query"].as_object().filter(|q| !q.is_empty()).map(|q| format!(" {}", Value::Object(q.clone()))).unwrap_or_default();
            shortened(&format!("{method} {path}{query}"))
        }
        _ => format!("event {}", shortened(&event.to_string())),
    }
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 160;
    if text.chars().count() <= CHARS_MAX { text.to_owned() } else { format!("{}…", text.chars().take(CHARS_MAX).collect::<String>()) }
}
