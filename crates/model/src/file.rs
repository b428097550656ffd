//! File stores: named folders of an organization, which `dir` props name, and their bounds.

use crate::clock::Timestamp;
use crate::ids::{OrgId, UploadId};

/// The longest name of a store, characters.
pub const NAME_CHARS_MAX: usize = 64;
/// The longest path of a file within its store, bytes.
pub const PATH_BYTES_MAX: usize = 512;
/// The longest name of a file or folder on its way, bytes: no usual file system has longer ones,
/// and files are laid into one.
pub const PART_BYTES_MAX: usize = 255;
/// The largest file, bytes.
pub const FILE_BYTES_MAX: i64 = 64 << 20;
/// Files of one store.
pub const STORE_FILES_MAX: i64 = 1_000;
/// Files of one store in all, bytes: what is mirrored has to fit beside what code writes.
pub const STORE_BYTES_MAX: i64 = 256 << 20;
/// Files of one organization.
pub const ORG_FILES_MAX: i64 = 10_000;
/// Files of one organization in all, bytes.
pub const ORG_BYTES_MAX: i64 = 1 << 30;

/// A file of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The organization.
    pub org_id: OrgId,
    /// The store's name.
    pub store: String,
    /// Where it is in the store, such as `invoices/2026.pdf`.
    pub path: String,
    /// Its contents.
    pub upload_id: UploadId,
    /// Bytes.
    pub size: i64,
    /// When its contents were stored.
    pub updated_at: Timestamp,
}

/// A store: there as long as it holds a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStore {
    /// Its name.
    pub name: String,
    /// How many files it holds.
    pub files: i64,
    /// What they take, bytes.
    pub bytes: i64,
}

/// What cannot be a store or a file in one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// A name.
    #[error(
        "`{0}` is not the name of a file store; allowed are 1 to {NAME_CHARS_MAX} letters, digits, `-`, `_` and `.`, the first a letter or digit"
    )]
    Name(String),
    /// A path.
    #[error(
        "`{0}` is not the path of a stored file; allowed are up to {PATH_BYTES_MAX} bytes such as `reports/june.csv`, {PART_BYTES_MAX} between two `/`: no `..`, no `/` at either end"
    )]
    Path(String),
    /// A path that would be both.
    #[error(
        "`{path}` would be a file and a folder of the file store `{store}`: a file lies there, and another below it; choose another path, or delete one of them"
    )]
    FileIsFolder {
        /// The path.
        path: String,
        /// The store.
        store: String,
    },
}

/// Why nothing more fits into a store.
#[must_use]
pub fn full(store: &str) -> String {
    format!(
        "the files do not fit into the file store `{store}`: a file has at most {FILE_BYTES_MAX} bytes, a store {STORE_FILES_MAX} files of {STORE_BYTES_MAX} bytes in all, \
         an organization {ORG_FILES_MAX} files of {ORG_BYTES_MAX} bytes; delete some with `millrace files delete`"
    )
}

/// Checks the name of a store.
pub fn check_name(name: &str) -> Result<(), FileError> {
    let fits = (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if fits { Ok(()) } else { Err(FileError::Name(crate::shown(name))) }
}

/// Checks the path of a file: it stays within its store, and within `/tmp` where it is mirrored.
pub fn check_path(path: &str) -> Result<(), FileError> {
    let part_fits = |part: &str| part.len() <= PART_BYTES_MAX && !matches!(part, "" | "." | "..");
    let fits = path.len() <= PATH_BYTES_MAX
        && path.split('/').all(part_fits)
        && !path.contains(|c: char| c.is_control());
    if fits { Ok(()) } else { Err(FileError::Path(crate::shown(path))) }
}

/// The folders that a path lies in.
pub fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The paths below one, in the order of bytes: from the first of them up to and without the second.
#[must_use]
pub fn range_below(path: &str) -> (String, String) {
    (format!("{path}/"), format!("{path}0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_a_path_and_above_it() {
        assert_eq!(folders_of("a/b/c.txt").collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(folders_of("a").count(), 0);
        let (from, to) = range_below("a");
        for (path, is_below) in [("a/b", true), ("a", false), ("a.b", false), ("ab", false)] {
            assert_eq!((&*from..&*to).contains(&path), is_below, "{path}");
        }
    }

    #[test]
    fn names_and_paths_that_can_be() {
        for name in ["a", "Reports-2026_v1.2", &"x".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "-a", "a/b", "a b", "ü", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        for path in ["a", "ü b/c.txt", ".hidden", "a..b", "...", &"x".repeat(255)] {
            assert!(check_path(path).is_ok(), "{path}");
        }
        for path in [
            "",
            "/a",
            "a/",
            "a//b",
            "..",
            "a/../b",
            "./a",
            "a\0b",
            "a\nb",
            &"x".repeat(256),
            &"x/".repeat(300),
        ] {
            assert!(check_path(path).is_err(), "{path:?}");
        }
    }
}
