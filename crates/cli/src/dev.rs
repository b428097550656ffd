//! `dev`: deploys a source, redeploys it on each save, shows its events and logs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use notify::{RecursiveMode, Watcher as _};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::client::Client;
use crate::commands::CliError;
use crate::files::Code;
use crate::{printer, stream};

pub(crate) async fn dev(client: &Client, file: &Path, attach: Option<String>, props: Map<String, Value>) -> Result<(), CliError> {
    let code = Code::read(file)?;
    let started = Instant::now();
    let mut body = code.body();
    body["configured_props"] = Value::Object(props);
    let source = match attach {
        Some(name) => {
            let (_, id) = client.resolve(&name).await?;
            client.call(Method::PUT, &format!("/sources/{id}"), &body).await?
        }
        None => client.call(Method::POST, "/sources", &body).await?,
    };
    let source = &source["data"];
    let id = source["id"].as_str().unwrap_or("").to_owned();
    printer::note(&format!("deployed {} as {id} in {} ms", source["name_slug"].as_str().unwrap_or(""), started.elapsed().as_millis()));
    if let Some(url) = source["configured_props"].as_object().into_iter().flatten().find_map(|(_, v)| v["endpoint_url"].as_str()) {
        printer::note(&format!("endpoint: {url}"));
    }
    printer::note("watching for saves; Ctrl-C ends this, the source stays deployed");
    let (events, logs) = (format!("/sources/{id}/sse"), format!("/sources/{id}/logs/sse"));
    let show_event = |event: Value| {
        printer::data(&format!("event {}", event["e"]));
        true
    };
    let show_line = |line: Value| {
        printer::data(&format!("{} {}", line["level"].as_str().unwrap_or(""), line["text"].as_str().unwrap_or("")));
        true
    };
    tokio::select! {
        done = watch(client, file, code.paths, &id) => done,
        done = stream::follow(client, &events, show_event) => done,
        done = stream::follow(client, &logs, show_line) => done,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Redeploys on each save. Folders are watched, for editors replace files.
async fn watch(client: &Client, file: &Path, mut paths: Vec<PathBuf>, id: &str) -> Result<(), CliError> {
    let failed = |e: notify::Error| CliError::new(format!("could not watch `{}`: {e}", file.display()), "");
    let (saved, mut saves) = mpsc::channel::<PathBuf>(64);
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
        // One save is several events.
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        while saves.try_recv().is_ok() {}
        let started = Instant::now();
        let redeployed = match Code::read(file) {
            Ok(code) => {
                paths.clone_from(&code.paths);
                client.call(Method::PUT, &format!("/sources/{id}"), &code.body()).await.map(|_| json!(null))
            }
            Err(error) => Err(error),
        };
        match redeployed {
            Ok(_) => printer::note(&format!("redeployed in {} ms", started.elapsed().as_millis())),
            Err(error) => error.print(),
        }
    }
}
