//! `workflows pull`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use millrace_model::own_files::bytes_of;
use serde_json::{Value, json};

use crate::client::{Client, Kind};
use crate::error::CliError;
use crate::files::manifests;
use crate::files::names::{self, WORKFLOW_FILE};
use crate::files::yaml::Document;
use crate::terminal::printer::{self, Show};
use crate::workflow::diff::differences;
use crate::workflow::file::{self, WorkflowFile};
use crate::workflow::ids;
use crate::workflow::served::Served;

/// Writes the version that is live as a folder. Without `force` a file that is there and not the
/// same stops it before anything is written.
pub(super) async fn pull(
    client: &Client,
    show: Show,
    name: &str,
    to: Option<PathBuf>,
    force: bool,
) -> Result<(), CliError> {
    let target = client.resolve_kind(Kind::Workflow, name).await?;
    let served = Served::fetch(client, &target).await?;
    let folder = match to {
        Some(to) => to,
        None => {
            let folder = own_folder(served.workflow["name_slug"].as_str().unwrap_or("workflow"))?;
            let known = ids::known_id(&folder.join(WORKFLOW_FILE), client.url());
            // A name that the server chose may be that of a folder of something else.
            if !force && known.as_ref() != Some(&target.id) && holds_something(&folder) {
                return Err(CliError::NotOfWorkflow { folder, id: target.id });
            }
            folder
        }
    };
    if let Some(name) = served.variable() {
        return Err(CliError::ServedVariable { name });
    }
    let mut files = served.files();
    if !force && says_the_same(&folder, &served, &files) {
        files.remove(WORKFLOW_FILE);
    }
    for (path, text) in &files {
        let full = place(&folder, path, text)?;
        let differs = written(path, &full, text)
            .is_some_and(|bytes| std::fs::read(&full).is_ok_and(|there| *there != *bytes));
        if !force && differs {
            return Err(CliError::WouldOverwrite(full));
        }
    }
    let file = folder.join(WORKFLOW_FILE);
    std::fs::create_dir_all(&folder)
        .map_err(|source| CliError::Write { path: folder.clone(), source })?;
    ids::remember_pulled(&file, client.url(), &target.id)?;
    for (path, text) in &files {
        let full = place(&folder, path, text)?;
        let Some(bytes) = written(path, &full, text) else { continue };
        let failed = |source| CliError::Write { path: full.clone(), source };
        std::fs::create_dir_all(file::folder_of(&full)).map_err(failed)?;
        std::fs::write(&full, bytes).map_err(failed)?;
    }
    for secret in served.secrets() {
        printer::note(&format!(
            "the secret `{secret}` is not in the folder: the server never shows it"
        ));
    }
    let paths: Vec<String> = served.files().into_keys().collect();
    if show.json {
        return printer::data(&json!({ "folder": folder, "files": paths }).to_string());
    }
    for path in paths {
        printer::data(&folder.join(path).display().to_string())?;
    }
    Ok(())
}

/// Whether the folder's workflow file says what is live: then it keeps its author's form and
/// comments.
fn says_the_same(folder: &Path, served: &Served, files: &BTreeMap<String, String>) -> bool {
    let path = folder.join(WORKFLOW_FILE);
    let Ok(local) = WorkflowFile::read(&path) else { return false };
    let live = files.get(WORKFLOW_FILE).map(|text| Document::parse(&path, text));
    let Some(Ok(live)) = live else { return false };
    let code_files = |steps: &Value| -> Vec<Value> {
        steps.as_array().into_iter().flatten().map(|step| step["code_file"].clone()).collect()
    };
    code_files(&local.value["steps"]) == code_files(&live.value["steps"])
        && differences(&local, served).iter().all(|difference| difference.file != WORKFLOW_FILE)
}

/// Where a file is written that the server names.
fn place(folder: &Path, path: &str, text: &str) -> Result<PathBuf, CliError> {
    if manifests::is_manifest(path, text) {
        names::manifest(folder, path)
    } else {
        names::code_file(folder, path)
    }
}

/// What is written there. None where a manifest that is there says the same.
fn written<'a>(path: &str, full: &Path, text: &'a str) -> Option<Cow<'a, [u8]>> {
    match std::fs::read_to_string(full) {
        Ok(there) if manifests::is_manifest(path, text) => {
            manifests::pulled(full, &there, text).map(|text| text.into_bytes().into())
        }
        _ => Some(bytes_of(text)),
    }
}

/// Whether a folder is there with anything in it.
fn holds_something(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// A folder that has the workflow's name. One that is a link there leads where nobody said.
fn own_folder(slug: &str) -> Result<PathBuf, CliError> {
    let folder = names::folder(slug)?;
    if folder.is_symlink() {
        return Err(CliError::Unsafe { path: folder, why: "is a link, which may lead anywhere" });
    }
    Ok(folder)
}
