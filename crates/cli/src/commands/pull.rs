//! `workflows pull`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::client::{Client, Kind};
use crate::error::CliError;
use crate::terminal::printer::{self, Show};
use crate::workflow::file;
use crate::workflow::served::Served;

/// Writes the version that is live as a folder. Without `force` a file that is there and not the same stops it before anything is written.
pub(super) async fn pull(client: &Client, show: Show, name: &str, to: Option<PathBuf>, force: bool) -> Result<(), CliError> {
    let target = client.resolve_kind(Kind::Workflow, name).await?;
    let served = Served::fetch(client, &target).await?;
    let folder = to.unwrap_or_else(|| PathBuf::from(served.workflow["name_slug"].as_str().unwrap_or("workflow")));
    let files = served.files();
    for (path, text) in &files {
        let full = checked(&folder, path)?;
        if !force && std::fs::read_to_string(&full).is_ok_and(|there| there != *text) {
            return Err(CliError::WouldOverwrite(full));
        }
    }
    for (path, text) in &files {
        let full = checked(&folder, path)?;
        let failed = |source| CliError::Write { path: full.clone(), source };
        std::fs::create_dir_all(file::folder_of(&full)).map_err(failed)?;
        std::fs::write(&full, text).map_err(failed)?;
    }
    file::remember_id(&folder.join("workflow.yaml"), client.url(), &target.id)?;
    for secret in served.secrets() {
        printer::note(&format!("the secret `{secret}` is not in the folder: the server shows it to nobody"));
    }
    let paths: Vec<&String> = files.keys().collect();
    if show.json {
        return printer::data(&json!({ "folder": folder, "files": paths }).to_string());
    }
    for path in paths {
        printer::data(&folder.join(path).display().to_string())?;
    }
    Ok(())
}

/// A path of the server's, which must stay in the folder.
fn checked(folder: &Path, path: &str) -> Result<PathBuf, CliError> {
    let is_inside = !path.starts_with('/') && path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains(['\\', '\0']);
    if is_inside { Ok(folder.join(path)) } else { Err(CliError::OutsidePath(path.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pulled_stays_in_its_folder() {
        assert_eq!(checked(Path::new("w"), "steps/a.mjs").ok(), Some(PathBuf::from("w/steps/a.mjs")));
        for path in ["/etc/x", "../x", "a/../../x", "a//b", "", "a\\..\\b"] {
            assert!(checked(Path::new("w"), path).is_err(), "{path}");
        }
    }
}
