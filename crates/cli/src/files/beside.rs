//! Files that code reads beside its own: `deploy` uploads them without an import.

use std::path::{Path, PathBuf};

use millrace_model::own_files::{is_data, lead, may_read_beside, named};

use super::root::Root;
use super::{FILES_MAX, is_name, is_taken};

/// Files that code may read beside its own, or load by a name that it makes: those that its texts
/// name, with what is in folders and begins so. Where they name none, but the code asks where it
/// lies, the data in its folder. Links are not followed, and names that begin with a dot are left
/// out. A folder outside of the root is not looked into; a file there is among what is found, to be
/// refused by its name.
pub(super) fn read_beside(folder: &Path, text: &str, root: &Root) -> Vec<PathBuf> {
    if !may_read_beside(text) {
        return Vec::new();
    }
    let from = folder.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for name in named(text) {
        // A text with a slash may be the beginning of a name.
        let is_beginning = name.contains('/') && !name.contains("://");
        let Some(path) = lead(&from, &name).map(|path| PathBuf::from(format!("/{path}"))) else {
            continue;
        };
        match path.symlink_metadata() {
            Ok(file) if file.is_file() && is_taken(&path) => found.push(path),
            Ok(below)
                if below.is_dir()
                    && path != folder
                    && !folder.starts_with(&path)
                    && is_name(&path)
                    && root.holds_folder(&path) =>
            {
                within(&path, "", &mut found)
            }
            Err(_) if is_beginning => {
                let (parent, begin) = (
                    path.parent().unwrap_or(folder),
                    path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                );
                if root.holds_folder(parent) {
                    within(parent, &begin, &mut found);
                }
            }
            _ => {}
        }
        if found.len() > FILES_MAX {
            break;
        }
    }
    if found.is_empty() && ASKS.iter().any(|token| text.contains(token)) {
        let beside =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        found.extend(beside.filter(|path| {
            path.symlink_metadata().is_ok_and(|file| file.is_file())
                && is_data(&path.to_string_lossy())
                && is_name(path)
        }));
        found.truncate(FILES_MAX);
    }
    found
}

/// Texts with which code asks where it lies.
const ASKS: [&str; 3] = ["__dirname", "__filename", "import.meta"];

/// The files of a folder whose names begin so, and all below folders that do.
fn within(folder: &Path, begin: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if !entry.file_name().to_string_lossy().starts_with(begin)
            || !is_name(&path)
            || found.len() > FILES_MAX
        {
            continue;
        }
        if kind.is_dir() {
            within(&path, "", found);
        } else if kind.is_file() && is_taken(&path) {
            found.push(path);
        }
    }
}
