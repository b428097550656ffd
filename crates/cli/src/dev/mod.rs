//! `dev`: deploys a source, redeploys it on each save, shows its events and logs. A workflow: see
//! `workflow`.

pub(crate) mod workflow;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};
use reqwest::Method;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::client::stream::{self, Follow};
use crate::client::{Client, Kind};
use crate::commands::{FIRST_EVENT, create_source, log_line, summary_of};
use crate::error::CliError;
use crate::files::Code;
use crate::terminal::printer::{self, Show};
use crate::workflow::file;

/// One save is several events of the file system.
const SETTLE: Duration = Duration::from_millis(30);
/// Saves that may wait to be looked at; a full queue already holds one.
const SAVES_MAX: usize = 64;

/// Message of each version; the web application says who saves from files, and shows runs of one
/// event before and after it.
pub(crate) const SAVED: &str = "Saved in millrace dev";

pub(crate) struct Dev {
    pub(crate) file: PathBuf,
    pub(crate) attach: Option<String>,
    pub(crate) props: Map<String, Value>,
}

pub(crate) async fn dev(client: &Client, show: Show, dev: Dev) -> Result<(), CliError> {
    if dev.file.is_dir() || (dev.attach.is_none() && file::is_there(&dev.file)) {
        if dev.attach.is_some() || !dev.props.is_empty() {
            return Err(CliError::Usage {
                message: "a workflow takes neither --dc nor --prop".into(),
                hint: "its props are in workflow.yaml, and the folder identifies the workflow",
            });
        }
        return workflow::dev(client, show, &dev.file).await;
    }
    let name = dev.file.to_string_lossy();
    if !dev.file.exists() && !name.contains(['/', '.']) {
        return Err(CliError::Usage {
            message: format!(
                "there is no file `{name}`: dev watches a file, and redeploys it on each save"
            ),
            hint: "deploy a published component with `millrace deploy KEY`, or onto an existing source with `millrace update SOURCE --code KEY`",
        });
    }
    let code = Code::read(&dev.file)?;
    let started = Instant::now();
    let mut body = saved(&code);
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
    printer::note(&format!(
        "deployed {} as {id} in {} ms",
        source["name_slug"].as_str().unwrap_or(""),
        started.elapsed().as_millis()
    ));
    for url in source["configured_props"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, v)| v["endpoint_url"].as_str())
    {
        printer::note(&format!("endpoint: {url}"));
    }
    if after.is_some() {
        // What the hooks of the deploy wrote; later lines come by the stream.
        for line in client.get(&format!("/sources/{id}/logs")).await?["data"]
            .as_array()
            .into_iter()
            .flatten()
        {
            printer::note(&log_line(line));
        }
    }
    // What is saved from here on counts.
    let mut saves = Saves::new(&dev.file)?;
    saves.watch_files(&code.paths)?;
    printer::note("watching for saves; Ctrl-C ends this, the source stays deployed");
    let events = Follow { path: format!("/sources/{id}/sse"), after };
    let logs = Follow { path: format!("/sources/{id}/logs/sse"), after: None };
    let show_event = |event: Value| {
        let summary = summary_of(event);
        printer::data(&if show.json {
            summary.to_string()
        } else {
            format!("event {}", summary["event"])
        })
    };
    // Data is what was emitted; logs stand beside it.
    let show_line = |line: Value| {
        printer::note(&log_line(&line));
        Ok(())
    };
    tokio::select! {
        done = watch(client, show, &dev.file, saves, (code.paths, &id)) => done,
        done = stream::follow(client, events, show_event) => done,
        done = stream::follow(client, logs, show_line) => done,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

async fn watch(
    client: &Client,
    show: Show,
    file: &Path,
    mut saves: Saves,
    (mut paths, id): (Vec<PathBuf>, &str),
) -> Result<(), CliError> {
    loop {
        saves.watch_files(&paths)?;
        saves.next(|path| paths.iter().any(|p| p == path)).await;
        match redeploy(client, file, id, &mut paths).await {
            Ok(took) => printer::note(&format!("redeployed in {} ms", took.as_millis())),
            Err(error) => printer::error(&error, show.json),
        }
    }
}

/// Body of the request that deploys the code as a version of a source.
fn saved(code: &Code) -> Value {
    let mut body = code.body();
    body["message"] = SAVED.into();
    body
}

async fn redeploy(
    client: &Client,
    file: &Path,
    id: &str,
    paths: &mut Vec<PathBuf>,
) -> Result<Duration, CliError> {
    let started = Instant::now();
    let code = Code::read(file)?;
    paths.clone_from(&code.paths);
    client.call(Method::PUT, &format!("/sources/{id}"), &saved(&code)).await?;
    Ok(started.elapsed())
}

/// Files that are saved. Folders are watched, for editors replace files.
pub(crate) struct Saves {
    what: PathBuf,
    watcher: notify::RecommendedWatcher,
    watched: Vec<PathBuf>,
    saved: mpsc::Receiver<PathBuf>,
}

impl Saves {
    /// `what`: as errors name it.
    pub(crate) fn new(what: &Path) -> Result<Self, CliError> {
        let (saved, saves) = mpsc::channel::<PathBuf>(SAVES_MAX);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let counts =
                |e: &notify::Event| e.kind.is_modify() || e.kind.is_create() || e.kind.is_remove();
            for path in event.into_iter().filter(counts).flat_map(|e| e.paths) {
                // A full queue already holds a save.
                let _ = saved.try_send(path);
            }
        });
        let watcher =
            watcher.map_err(|source| CliError::Watch { path: what.to_path_buf(), source })?;
        Ok(Self { what: what.to_path_buf(), watcher, watched: Vec::new(), saved: saves })
    }

    /// The folders of files.
    pub(crate) fn watch_files(&mut self, files: &[PathBuf]) -> Result<(), CliError> {
        files
            .iter()
            .filter_map(|p| p.parent())
            .try_for_each(|folder| self.watch(folder, RecursiveMode::NonRecursive))
    }

    /// A folder, once.
    pub(crate) fn watch(&mut self, folder: &Path, mode: RecursiveMode) -> Result<(), CliError> {
        if !self.watched.iter().any(|w| w == folder) {
            self.watcher
                .watch(folder, mode)
                .map_err(|source| CliError::Watch { path: self.what.clone(), source })?;
            self.watched.push(folder.to_path_buf());
        }
        Ok(())
    }

    /// Waits for a save that counts, and for those that come with it.
    pub(crate) async fn next(&mut self, counts: impl Fn(&Path) -> bool) {
        // The watcher holds the sender.
        while let Some(path) = self.saved.recv().await {
            if counts(&path) {
                break;
            }
        }
        tokio::time::sleep(SETTLE).await;
        while self.saved.try_recv().is_ok() {}
    }
}
