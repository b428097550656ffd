//! Trees of component files: paths relative to one root, with `/`, and what an import may mean
//! among them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::path::{Path, PathBuf};

use millrace_model::source_paths::{ENDINGS, SWAPPED, joined};

/// A larger file is no component.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Files of a tree by path.
pub trait Files: Sync {
    /// The text of a file; None where there is none.
    fn read(&self, path: &str) -> Option<String>;
    /// What changes when the file does; None where there is none.
    fn stamp(&self, path: &str) -> Option<u64>;
    /// The code files that may hold components: `components/<app>/{sources,actions}/<slug>/<file>`.
    fn component_files(&self) -> Vec<String>;
}

/// Whether a path is laid out as a component's file is:
/// `components/<app>/{sources,actions}/<slug>/<file>`.
pub(crate) fn is_component_path(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["components", _, "sources" | "actions", _, file] if is_code(file))
}

fn is_code(file: &str) -> bool {
    [".mjs", ".ts", ".js"].iter().any(|ending| file.ends_with(ending)) && !file.ends_with(".d.ts")
}

fn hashed(value: impl Hash) -> u64 {
    // Stamps are compared on one machine; that this hash may change with a newer compiler costs one
    // more scan.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Files for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Option<String> {
        self.get(path).cloned()
    }

    fn stamp(&self, path: &str) -> Option<u64> {
        self.get(path).map(hashed)
    }

    fn component_files(&self) -> Vec<String> {
        self.keys().filter(|path| is_component_path(path)).cloned().collect()
    }
}

/// A folder on this machine. Only for folders that whoever asks may read.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder that all paths are below.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Option<String> {
        if path.split('/').any(|part| part.is_empty() || part == "..") {
            return None;
        }
        let full = self.root.join(path);
        let found = std::fs::metadata(&full).ok()?;
        if !found.is_file() || found.len() > FILE_BYTES_MAX {
            None
        } else {
            std::fs::read_to_string(full).ok()
        }
    }

    fn stamp(&self, path: &str) -> Option<u64> {
        let found =
            std::fs::metadata(self.root.join(path)).ok().filter(std::fs::Metadata::is_file)?;
        Some(hashed((found.len(), found.modified().ok())))
    }

    fn component_files(&self) -> Vec<String> {
        let mut files = Vec::new();
        for app in self.names("components") {
            for kind in ["actions", "sources"] {
                let folder = format!("components/{app}/{kind}");
                for slug in self.names(&folder) {
                    let folder = format!("{folder}/{slug}");
                    files.extend(
                        self.names(&folder)
                            .into_iter()
                            .filter(|file| is_code(file))
                            .map(|file| format!("{folder}/{file}")),
                    );
                }
            }
        }
        files
    }
}

/// Where a relative import leads, without an ending; None if out of the tree.
pub(crate) fn join(specifier: &str, importer: &str) -> Option<String> {
    joined(importer.rsplit_once('/').map_or("", |(folder, _)| folder), specifier)
}

/// The files that a path without its ending may mean, likeliest first.
pub(crate) fn candidates(base: &str) -> impl Iterator<Item = String> + '_ {
    let swapped = SWAPPED
        .iter()
        .filter_map(|(named, written)| Some(format!("{}{written}", base.strip_suffix(named)?)));
    ENDINGS.iter().map(move |ending| format!("{base}{ending}")).chain(swapped)
}

/// The folder of the app that a file of a tree belongs to: `components/<app>`.
pub(crate) fn app_of(path: &str) -> Option<&str> {
    let app = path.strip_prefix("components/")?.split_once('/')?.0;
    path.get(.."components/".len() + app.len())
}

/// The folder of an app of the same tree that is imported by its package's name: `@pipedream/<app>`
/// is `components/<app>`.
pub(crate) fn app_folder(package: &str, importer: &str) -> Option<String> {
    let app = package.strip_prefix("@pipedream/")?;
    let at = format!("/{importer}").rfind("/components/")?;
    Some(format!("{}components/{app}", &importer[..at]))
}

/// An app's main file, where its `package.json` names none that is there.
pub(crate) fn app_files(folder: &str) -> impl Iterator<Item = String> + '_ {
    let app = folder.rsplit('/').next().unwrap_or(folder);
    ["mjs", "ts", "js"]
        .into_iter()
        .map(move |ending| format!("{folder}/{app}.app.{ending}"))
        .chain([format!("{folder}/app/{app}.app.ts")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stay_in_the_tree() {
        assert_eq!(
            join("../../a.app.mjs", "components/a/actions/x/x.mjs").as_deref(),
            Some("components/a/a.app.mjs")
        );
        assert_eq!(join("./y", "x.mjs").as_deref(), Some("y"));
        assert_eq!(join("../../y", "a/x.mjs"), None);
        assert_eq!(
            app_folder("@pipedream/slack", "tree/components/a/x.mjs").as_deref(),
            Some("tree/components/slack")
        );
        assert_eq!(app_folder("lodash", "components/a/x.mjs"), None);
    }

    #[test]
    fn a_folder_gives_nothing_outside_of_it() {
        let folder = Folder::new(env!("CARGO_MANIFEST_DIR"));
        assert!(folder.read("Cargo.toml").is_some());
        assert!(
            folder.read("../model/Cargo.toml").is_none()
                && folder.read("src").is_none()
                && folder.read("/etc/hostname").is_none()
        );
    }
}
