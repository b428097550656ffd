//! An uploaded tree: a `.tar.gz` to the files of a registry, laid out as `components/<app>/…`.
//! Nothing touches the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::string::FromUtf8Error;

use millrace_model::own_files::{
    AppFolders, DATA_FILE_BYTES_MAX, app_folder, asks_where_it_lies, is_data, is_data_of, text_of,
};
use serde_json::Value;
use tar::Entry;

use crate::gzip_members::Members;
use crate::{BundleError, Unindexed, tar_entries};

/// Code files of the largest public tree are 30 MB.
const BYTES_MAX: usize = 192 << 20;
const FILES_MAX: usize = 60_000;
/// Files and whatever else an archive has: each costs its reading, also what is left out.
const ENTRIES_MAX: usize = 4 * FILES_MAX;
/// A larger file is no component.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A longer path is left out: it is part of a key of the database.
const PATH_BYTES_MAX: usize = 500;
/// npm's limit on a name, bytes.
const NAME_BYTES_MAX: usize = 214;
/// What components are made of.
const ENDINGS: [&str; 9] = [".mjs", ".js", ".ts", ".cjs", ".json", ".mts", ".tsx", ".jsx", ".cts"];

/// A tree as it was uploaded.
#[derive(Debug, Default)]
pub struct UploadedTree {
    /// Its files of code and data, by path.
    pub files: BTreeMap<String, String>,
    /// Files of code that could not be taken, and why.
    pub left_out: Vec<Unindexed>,
}

/// What became of a file of an archive.
enum Content {
    Text(String),
    LeftOut(String),
}

/// Reads an archive. `app`: the folder that the files of a single app are put in, where its
/// `package.json` has no name.
pub fn unpack_tree(bytes: &[u8], app: &str) -> Result<UploadedTree, BundleError> {
    let mut reading = Reading::default();
    let refused = |refused| match refused {
        Refused::So(error) => error,
        Refused::Unread(e) => BundleError::Archive {
            reason: format!("it is no .tar.gz archive that can be read ({e})"),
        },
    };
    // The headers of what is left out count too: the limit is on what is decompressed.
    let unpacked = || Members::new(bytes).take(4 * BYTES_MAX as u64);
    let read = tar_entries::files(unpacked(), ENTRIES_MAX, |path, entry| {
        let path = path.to_string_lossy().trim_start_matches("./").to_owned();
        if !is_wanted(&path) {
            reading.has_data |= is_data(&path);
            return Ok(());
        }
        reading.code(path, entry)
    });
    read.map_err(refused)?;
    let readers = AppFolders::from_iter(std::mem::take(&mut reading.readers));
    if reading.has_data && !readers.is_empty() {
        // Which data is wanted is known once all code was read.
        let read = tar_entries::files(unpacked(), ENTRIES_MAX, |path, entry| {
            let path = path.to_string_lossy().trim_start_matches("./").to_owned();
            if path.len() > PATH_BYTES_MAX
                || !is_data_of(&path, &readers)
                || entry.size() > DATA_FILE_BYTES_MAX
            {
                return Ok(());
            }
            let text = text_of(bytes_of(entry)?);
            reading.add(path, Content::Text(text))
        });
        read.map_err(refused)?;
    }
    let files = laid_out(reading.files, app)
        .ok_or_else(|| BundleError::Archive { reason: "it holds no components: expected are `components/<app>/sources/<slug>/<slug>.mjs` and the like".into() })?;
    let mut tree = UploadedTree::default();
    for (path, content) in files {
        match content {
            Content::Text(text) => drop(tree.files.insert(path, text)),
            Content::LeftOut(reason) => tree.left_out.push(Unindexed { path, reason }),
        }
    }
    Ok(tree)
}

/// An archive as far as it was read.
#[derive(Default)]
struct Reading {
    files: BTreeMap<String, Content>,
    /// Bytes of the files' texts.
    total: usize,
    /// Folders of apps with code that asks where it lies.
    readers: BTreeSet<String>,
    /// Whether there is data that such code may read.
    has_data: bool,
}

impl Reading {
    fn code(&mut self, path: String, entry: &mut Entry<'_, impl Read>) -> Result<(), Refused> {
        let size = entry.size();
        if size > FILE_BYTES_MAX {
            let reason = format!("it has {size} bytes; allowed are {FILE_BYTES_MAX} in a file");
            return self.add(path, Content::LeftOut(reason));
        }
        match String::from_utf8(bytes_of(entry)?) {
            Ok(text) => {
                if !path.ends_with(".json") && asks_where_it_lies(&text) {
                    self.readers.insert(app_folder(&path).to_owned());
                }
                self.add(path, Content::Text(text))
            }
            Err(error) => self.add(path, Content::LeftOut(not_utf8(&error))),
        }
    }

    fn add(&mut self, path: String, content: Content) -> Result<(), Refused> {
        if let Content::Text(text) = &content {
            self.total += text.len();
        }
        if self.total > BYTES_MAX {
            return Err(Refused::So(BundleError::TooLarge {
                what: "the registry".into(),
                bytes_max: BYTES_MAX,
            }));
        }
        if self.files.len() >= FILES_MAX {
            return Err(Refused::So(BundleError::Archive {
                reason: format!("it has more than {FILES_MAX} files"),
            }));
        }
        self.files.insert(path, content);
        Ok(())
    }
}

fn bytes_of(entry: &mut Entry<'_, impl Read>) -> std::io::Result<Vec<u8>> {
    // Growing it would leave holes as large as the text, file after file.
    let mut bytes = Vec::with_capacity(usize::try_from(entry.size()).unwrap_or(0));
    entry.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why a file is no text that is read, and what would make it one.
fn not_utf8(error: &FromUtf8Error) -> String {
    let bytes = error.as_bytes();
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return "it is UTF-16; save it as UTF-8".into();
    }
    let before = &bytes[..error.utf8_error().valid_up_to()];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    format!("it is not UTF-8 (line {line}); save it as UTF-8")
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
fn laid_out(files: BTreeMap<String, Content>, app: &str) -> Option<BTreeMap<String, Content>> {
    // Where paths begin within the folders that are around them all.
    let mut at = 0;
    let placed = |before: &str, at: usize, files: BTreeMap<String, Content>| {
        files.into_iter().map(|(path, held)| (format!("{before}{}", &path[at..]), held)).collect()
    };
    loop {
        let any = |is: &dyn Fn(&str) -> bool| files.keys().any(|path| is(&path[at..]));
        if any(&|path| is_component(path.strip_prefix("components/"), 1)) {
            return Some(placed("", at, files));
        }
        let (first, last) = (files.keys().next()?, files.keys().next_back()?);
        let (begin, first, last) = (&first[..at], &first[at..], &last[at..]);
        if any(&|path| is_component(Some(path), 0)) {
            let manifest = match files.get(&format!("{begin}package.json")) {
                Some(Content::Text(text)) => millrace_model::json::from_str::<Value>(text).ok(),
                _ => None,
            };
            let named = manifest
                .as_ref()
                .and_then(|m| m.get("name")?.as_str())
                .and_then(|name| name.rsplit('/').next());
            let app = named.filter(|name| is_folder(name)).unwrap_or(app);
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

/// Whether the name of a package is one of a folder, which each of its paths then has.
fn is_folder(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= NAME_BYTES_MAX && !name.contains('\0')
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
            .map(|path| {
                ((*path).to_owned(), Content::Text(r#"{ "name": "@scope/acme" }"#.to_owned()))
            })
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
    fn an_app_has_the_name_of_its_package_where_that_is_one_of_a_folder() {
        let (longest, longer) = ("a".repeat(NAME_BYTES_MAX), "a".repeat(NAME_BYTES_MAX + 1));
        assert!(is_folder("acme") && is_folder(&longest));
        for name in ["", ".", "..", "a\0", longer.as_str()] {
            assert!(!is_folder(name), "{name}");
        }
    }

    #[test]
    fn paths_that_lead_out_are_left_out() {
        assert!(is_wanted("components/a/sources/x/x.mjs"));
        for path in ["../x.mjs", "/x.mjs", "a/../x.mjs", "a/node_modules/x.js", "a/x.png", "x"] {
            assert!(!is_wanted(path), "{path}");
        }
        assert!(unpack_tree(b"no archive", "a").is_err());
    }

    #[test]
    fn files_that_cannot_be_taken_are_named_with_the_reason() {
        let mut packed = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        let large = vec![b' '; (4 << 20) + 1];
        for (name, bytes) in [
            ("good", &b"export default {};"[..]),
            ("latin", b"// a\n// caf\xe9\n"),
            ("utf16", b"\xff\xfee\0x\0"),
            ("large", &large),
        ] {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            let path = format!("tree/acme/actions/{name}/{name}.mjs");
            packed.append_data(&mut header, path, bytes).expect("packs");
        }
        let packed = packed.into_inner().and_then(flate2::write::GzEncoder::finish);
        let tree = unpack_tree(&packed.expect("packs"), "a").expect("unpacks");
        let path = |name: &str| format!("components/acme/actions/{name}/{name}.mjs");
        assert_eq!(tree.files.into_keys().collect::<Vec<_>>(), [path("good")]);
        let left_out =
            |name: &str, reason: &str| Unindexed { path: path(name), reason: reason.into() };
        assert_eq!(
            tree.left_out,
            [
                left_out("large", "it has 4194305 bytes; allowed are 4194304 in a file"),
                left_out("latin", "it is not UTF-8 (line 2); save it as UTF-8"),
                left_out("utf16", "it is UTF-16; save it as UTF-8"),
            ]
        );
    }
}
