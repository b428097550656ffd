//! Record beside a workflow's file of where it belongs: its id on each server, and whether its code
//! came from a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::file::WorkflowFile;
use crate::error::CliError;

const IDS_FILE: &str = ".millrace.json";
/// Stands where a server's address does, which it is none of.
const PULLED: &str = "pulled";

/// Ids by server and file name; below [`PULLED`], servers by file name.
type Ids = BTreeMap<String, BTreeMap<String, String>>;

impl WorkflowFile {
    /// The workflow that was made from this file on this server.
    pub(crate) fn known_id(&self, url: &str) -> Option<String> {
        known_id(&self.path, url)
    }

    /// Remembers which workflow this file is on this server.
    pub(crate) fn remember_id(&self, url: &str, id: &str) -> Result<(), CliError> {
        remember(&self.path, url, id)
    }
}

/// The workflow that a file is on a server, as it was remembered beside it.
pub(crate) fn known_id(file: &Path, url: &str) -> Option<String> {
    let (path, name) = ids_path(file);
    read_ids(&path).get(url)?.get(&name).cloned()
}

/// Records which workflow a file that is pulled is, and that code beside it is a server's. Written
/// before the code is.
pub(crate) fn remember_pulled(file: &Path, url: &str, id: &str) -> Result<(), CliError> {
    remember(file, PULLED, url)?;
    remember(file, url, id)
}

/// Whether code of a folder came from a server, which must not decide what else is read.
pub(crate) fn is_pulled(folder: &Path) -> bool {
    read_ids(&folder.join(IDS_FILE)).get(PULLED).is_some_and(|files| !files.is_empty())
}

fn remember(file: &Path, url: &str, id: &str) -> Result<(), CliError> {
    let (path, name) = ids_path(file);
    let mut ids = read_ids(&path);
    if ids.entry(url.to_owned()).or_default().insert(name, id.to_owned()).as_deref() == Some(id) {
        return Ok(());
    }
    if path.is_symlink() {
        return Err(CliError::Unsafe { path, why: "is a link, which may lead anywhere" });
    }
    std::fs::write(&path, format!("{:#}\n", json!(ids)))
        .map_err(|source| CliError::Write { path, source })
}

fn ids_path(file: &Path) -> (PathBuf, String) {
    (
        file.with_file_name(IDS_FILE),
        file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
    )
}

fn read_ids(path: &Path) -> Ids {
    // What cannot be read is written anew: it only spares a look-up by name.
    std::fs::read_to_string(path)
        .ok()
        .and_then(|text| millrace_model::json::from_str(&text).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::folder_with;

    #[test]
    fn ids_are_kept_by_server_and_file() {
        let folder = folder_with(&[("w.json", r#"{"steps":[]}"#), ("v.json", r#"{"steps":[]}"#)]);
        let file = WorkflowFile::read(&folder.path().join("w.json")).expect("reads");
        file.remember_id("http://a", "p_1").expect("writes");
        file.remember_id("http://b", "p_2").expect("writes");
        assert_eq!(
            (file.known_id("http://a").as_deref(), file.known_id("http://b").as_deref()),
            (Some("p_1"), Some("p_2"))
        );
        assert_eq!(
            WorkflowFile::read(&folder.path().join("v.json")).expect("reads").known_id("http://a"),
            None
        );
    }

    #[test]
    fn a_folder_stays_pulled_when_it_is_deployed() {
        let folder = folder_with(&[("w.json", r#"{"steps":[]}"#)]);
        assert!(!is_pulled(folder.path()));
        remember_pulled(&folder.path().join("w.json"), "http://a", "p_1").expect("writes");
        let file = WorkflowFile::read(&folder.path().join("w.json")).expect("reads");
        file.remember_id("http://a", "p_2").expect("writes");
        assert!(is_pulled(folder.path()));
        assert_eq!(file.known_id("http://a").as_deref(), Some("p_2"));
    }
}
