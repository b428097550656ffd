//! An uploaded tree: a `.tar.gz` to the files of a registry, laid out as `components/<app>/…`.
//! Nothing touches the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use flate2::read::GzDecoder;
use millrace_model::own_files::{
    AppFolders, DATA_FILE_BYTES_MAX, app_folder, asks_where_it_lies, is_data, is_data_of, text_of,
};
use serde_json::Value;

use crate::{BundleError, tar_entries};

/// Code files of the largest public tree are 30 MB.
const BYTES_MAX: usize = 192 << 20;
const FILES_MAX: usize = 60_000;
/// Files and whatever else an archive has: each costs its reading, also what is left out.
const ENTRIES_MAX: usize = 4 * FILES_MAX;
/// A larger file is no component.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A longer path is left out: it is part of a key of the database.
const PATH_BYTES_MAX: usize = 500;
/// What components are made of.
const ENDINGS: [&str; 9] = [".mjs", ".js", ".ts", ".cjs", ".json", ".mts", ".tsx", ".jsx", ".cts"];

/// Reads an archive. `app`: the folder that the files of a single app are put in, where its
/// `package.json` has no name.
pub fn unpack_tree(bytes: &[u8], app: &str) -> Result<BTreeMap<String, String>, BundleError> {
    let bad = |e: std::io::Error| BundleError::Archive {
        reason: format!("it is no .tar.gz archive that can be read ({e})"),
    };
    // The headers of what is left out count too: the limit is on what is decompressed.
    let unpacked = GzDecoder::new(bytes).take(4 * BYTES_MAX as u64);
    let (mut files, mut total) = (BTreeMap::new(), 0);
    let mut readers = BTreeSet::new();
    let mut has_data = false;
    let read = tar_entries::files(unpacked, ENTRIES_MAX, |path, entry| {
        let path = path.to_string_lossy().trim_start_matches("./").to_owned();
        if !is_wanted(&path) || entry.size() > FILE_BYTES_MAX {
            has_data |= is_data(&path);
            return Ok(());
        }
        // Growing it would leave holes as large as the text, file after file.
        let mut text = String::with_capacity(usize::try_from(entry.size()).unwrap_or(0));
        // What is not text is no code.
        if entry.read_to_string(&mut text).is_err() {
            return Ok(());
        }
        total += text.len();
        if total > BYTES_MAX {
            return Err(Refused::So(BundleError::TooLarge {
                what: "the registry".into(),
                bytes_max: BYTES_MAX,
            }));
        }
        if files.len() >= FILES_MAX {
            return Err(Refused::So(BundleError::Archive {
                reason: format!("it has more than {FILES_MAX} files"),
            }));
        }
        if !path.ends_with(".json") && asks_where_it_lies(&text) {
            readers.insert(app_folder(&path).to_owned());
        }
        files.insert(path, text);
        Ok(())
    });
    let refused = |refused| match refused {
        Refused::So(error) => error,
        Refused::Unread(e) => bad(e),
    };
    read.map_err(refused)?;
    let readers = AppFolders::from_iter(readers);
    if has_data && !readers.is_empty() {
        // Which data is wanted is known once all code was read.
        let again = GzDecoder::new(bytes).take(4 * BYTES_MAX as u64);
        let read = tar_entries::files(again, ENTRIES_MAX, |path, entry| {
            let path = path.to_string_lossy().trim_start_matches("./").to_owned();
            if path.len() > PATH_BYTES_MAX
                || !is_data_of(&path, &readers)
                || entry.size() > DATA_FILE_BYTES_MAX
            {
                return Ok(());
            }
            let mut data = Vec::with_capacity(usize::try_from(entry.size()).unwrap_or(0));
            entry.read_to_end(&mut data)?;
            let text = text_of(data);
            total += text.len();
            if total > BYTES_MAX {
                return Err(Refused::So(BundleError::TooLarge {
                    what: "the registry".into(),
                    bytes_max: BYTES_MAX,
                }));
            }
            if files.len() >= FILES_MAX {
                return Err(Refused::So(BundleError::Archive {
                    reason: format!("it has more than {FILES_MAX} files"),
                }));
            }
            files.insert(path, text);
            Ok(())
        });
        read.map_err(refused)?;
    }
    laid_out(files, app)
        .ok_or_else(|| BundleError::Archive { reason: "it holds no components: expected are `components/<app>/sources/<slug>/<slug>.mjs` and the like".into() })
}

/// Why an archive is not taken.
enum Refused {
    So(BundleError),
    Unread(std::io::Error),
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self::Unread(error)
    }
}

fn is_wanted(path: &str) -> bool {
    let good = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && part != "node_modules" && part != ".git"
    };
    path.len() <= PATH_BYTES_MAX
        && path.split('/').all(good)
        && ENDINGS.iter().any(|ending| path.ends_with(ending))
        && !path.contains('\0')
}

/// A checkout has `components/<app>`; other trees are apps side by side, or one app; archives have
/// one folder around it all.
fn laid_out(files: BTreeMap<String, String>, app: &str) -> Option<BTreeMap<String, String>> {
    // Where paths begin within the folders that are around them all.
    let mut at = 0;
    let placed = |before: &str, at: usize, files: BTreeMap<String, String>| {
        files.into_iter().map(|(path, text)| (format!("{before}{}", &path[at..]), text)).collect()
    };
    loop {
        let any = |is: &dyn Fn(&str) -> bool| files.keys().any(|path| is(&path[at..]));
        if any(&|path| is_component(path.strip_prefix("components/"), 1)) {
            return Some(placed("", at, files));
        }
        let (first, last) = (files.keys().next()?, files.keys().next_back()?);
        let (begin, first, last) = (&first[..at], &first[at..], &last[at..]);
        if any(&|path| is_component(Some(path), 0)) {
            let manifest = files
                .get(&format!("{begin}package.json"))
                .and_then(|text| serde_json::from_str::<Value>(text).ok());
            let named = manifest
                .as_ref()
                .and_then(|m| m.get("name")?.as_str())
                .and_then(|name| name.rsplit('/').next());
            let app = named.filter(|name| !name.is_empty() && *name != "..").unwrap_or(app);
            return Some(placed(&format!("components/{app}/"), at, files));
        }
        let around = first.split_once('/').map(|(folder, _)| &first[..=folder.len()]);
        // The paths are in order: what the first and the last begin with, all do.
        let around = around.filter(|around| last.starts_with(around));
        // npm's archives have the folder `package` around one app; it is no app's name.
        let is_npm = around == Some("package/")
            && files.contains_key(&format!("{begin}package/package.json"));
        if !is_npm && any(&|path| is_component(Some(path), 1)) {
            return Some(placed("components/", at, files));
        }
        at += around?.len();
    }
}

/// Whether a path is `sources/<slug>/<file>` below so many folders.
fn is_component(path: Option<&str>, folders: usize) -> bool {
    let mut parts = path.unwrap_or_default().split('/').skip(folders);
    matches!(parts.next(), Some("sources" | "actions")) && parts.take(3).count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[&str]) -> Option<Vec<String>> {
        let files = files
            .iter()
            .map(|path| ((*path).to_owned(), r#"{ "name": "@scope/acme" }"#.to_owned()))
            .collect();
        laid_out(files, "fallback").map(|files| files.into_keys().collect())
    }

    #[test]
    fn trees_of_all_layouts_become_one() {
        let one = Some(vec!["components/acme/sources/new/new.mjs".to_owned()]);
        assert_eq!(paths(&["components/acme/sources/new/new.mjs"]), one);
        assert_eq!(paths(&["repository-main/components/acme/sources/new/new.mjs"]), one);
        assert_eq!(paths(&["acme/sources/new/new.mjs"]), one);
        assert_eq!(
            paths(&["sources/new/new.mjs"]),
            Some(vec!["components/fallback/sources/new/new.mjs".to_owned()])
        );
        let package = paths(&["package/package.json", "package/sources/new/new.mjs"]);
        assert_eq!(
            package,
            Some(vec![
                "components/acme/package.json".to_owned(),
                "components/acme/sources/new/new.mjs".to_owned()
            ])
        );
        let deep = format!("{}acme/sources/new/new.mjs", "around/".repeat(60));
        assert_eq!(paths(&[&deep, "around/LICENSE"]), None);
        assert_eq!(paths(&[&deep]), one);
        assert_eq!(paths(&["src/index.mjs"]), None);
        assert_eq!(paths(&[]), None);
    }

    #[test]
    fn paths_that_lead_out_are_left_out() {
        assert!(is_wanted("components/a/sources/x/x.mjs"));
        for path in ["../x.mjs", "/x.mjs", "a/../x.mjs", "a/node_modules/x.js", "a/x.png", "x"] {
            assert!(!is_wanted(path), "{path}");
        }
        assert!(unpack_tree(b"no archive", "a").is_err());
    }
}
