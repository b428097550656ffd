//! `dev`: deploys a source, redeploys it on each save, shows its events and logs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};
use reqwest::Method;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::client::{Client, Kind};
use crate::commands::{FIRST_EVENT, create_source, log_line, summary_of};
use crate::error::CliError;
use crate::files::Code;
use crate::printer::{self, Show};
use crate::stream::{self, Follow};

/// One save is several events of the file system.
const SETTLE: Duration = Duration::from_millis(30);
/// Saves that may wait to be looked at; a full queue already holds one.
const SAVES_MAX: usize = 64;

pub(crate) struct Dev {
    pub(crate) file: PathBuf,
    pub(crate) attach: Option<String>,
    pub(crate) props: Map<String, Value>,
}

pub(crate) async fn dev(client: &Client, show: Show, dev: Dev) -> Result<(), CliError> {
    let code = Code::read(&dev.file)?;
    let started = Instant::now();
    let mut body = code.body();
    if !dev.props.is_empty() || dev.attach.is_none() {
        body["configured_props"] = Value::Object(dev.props);
    }
    // What a new source's `deploy` hook emitted is shown too; of an attached one only what comes.
    let (source, after) = match dev.attach {
        Some(name) => {
            let target = client.resolve_kind(Kind::Source, &name).await?;
            (client.call(Method::PUT, &target.path(), &body).await?, None)
        }
        None => (create_source(client, body).await?, Some(FIRST_EVENT.to_owned())),
    };
    let source = &source["data"];
    let id = source["id"].as_str().unwrap_or("").to_owned();
    printer::note(&format!("deployed {} as {id} in {} ms", source["name_slug"].as_str().unwrap_or(""), started.elapsed().as_millis()));
    for url in source["configured_props"].as_object().into_iter().flatten().filter_map(|(_, v)| v["endpoint_url"].as_str()) {
        printer::note(&format!("endpoint: {url}"));
    }
    if after.is_some() {
        // What the hooks of the deploy wrote; later lines come by the stream.
        for line in client.get(&format!("/sources/{id}/logs")).await?["data"].as_array().into_iter().flatten() {
            printer::note(&log_line(line));
        }
    }
    printer::note("watching for saves; Ctrl-C ends this, the source stays deployed");
    let events = Follow { path: format!("/sources/{id}/sse"), after };
    let logs = Follow { path: format!("/sources/{id}/logs/sse"), after: None };
    let show_event = |event: Value| {
        let summary = summary_of(event);
        printer::data(&if show.json { summary.to_string() } else { format!("event {}", summary["event"]) })
    };
    // Data is what was emitted; logs stand beside it.
    let show_line = |line: Value| {
        printer::note(&log_line(&line));
        Ok(())
    };
    tokio::select! {
        done = watch(client, &dev.file, code.paths, &id) => done,
        done = stream::follow(client, events, show_event) => done,
        done = stream::follow(client, logs, show_line) => done,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Redeploys on each save; what fails is told, and the next save tries again. Folders are watched, for editors replace files.
async fn watch(client: &Client, file: &Path, mut paths: Vec<PathBuf>, id: &str) -> Result<(), CliError> {
    let failed = |source| CliError::Watch { path: file.to_path_buf(), source };
    let (saved, mut saves) = mpsc::channel::<PathBuf>(SAVES_MAX);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        for path in event.into_iter().filter(|e| e.kind.is_modify() || e.kind.is_create()).flat_map(|e| e.paths) {
            // A full queue already holds a save.
            let _ = saved.try_send(path);
        }
    })
    .map_err(failed)?;
    let mut watched: Vec<PathBuf> = Vec::new();
    loop {
        for folder in paths.iter().filter_map(|p| p.parent()).map(Path::to_path_buf) {
            if !watched.contains(&folder) {
                watcher.watch(&folder, RecursiveMode::NonRecursive).map_err(failed)?;
                watched.push(folder);
            }
        }
        match saves.recv().await {
            None => return Ok(()),
            Some(path) if !paths.contains(&path) => continue,
            Some(_) => {}
        }
        tokio::time::sleep(SETTLE).await;
        while saves.try_recv().is_ok() {}
        match redeploy(client, file, id, &mut paths).await {
            Ok(took) => printer::note(&format!("redeployed in {} ms", took.as_millis())),
            Err(error) => printer::error(&error),
        }
    }
}

async fn redeploy(client: &Client, file: &Path, id: &str, paths: &mut Vec<PathBuf>) -> Result<Duration, CliError> {
    let started = Instant::now();
    let code = Code::read(file)?;
    paths.clone_from(&code.paths);
    client.call(Method::PUT, &format!("/sources/{id}"), &code.body()).await?;
    Ok(started.elapsed())
}
