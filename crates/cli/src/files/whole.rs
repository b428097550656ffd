//! Files that are written whole or not at all: beside their place, and then moved there.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::error::CliError;

/// Bits of a mode that say who may do what.
const PERMISSIONS: u32 = 0o7777;

/// Writes a file that only its owner may read, and its folder where it is missing.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| replace(path, bytes, Some(0o600)))
        .map_err(|source| CliError::Write { path: path.to_path_buf(), source })
}

/// Writes a file of the user's, whose permissions stay. A link stays one, and what is no file, such
/// as a device or a pipe, is written to.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let written = match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => std::fs::write(path, bytes),
        Ok(found) => path
            .canonicalize()
            .and_then(|path| replace(&path, bytes, Some(found.permissions().mode() & PERMISSIONS))),
        Err(_) => replace(path, bytes, None),
    };
    written.map_err(|source| CliError::Write { path: path.to_path_buf(), source })
}

fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part{}", std::process::id()));
    let part = path.with_file_name(name);
    let written = write_new(&part, bytes, mode).and_then(|()| std::fs::rename(&part, path));
    written.inspect_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            // What is left of it is in nobody's way.
            let _ = std::fs::remove_file(&part);
        }
    })
}

fn write_new(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    if let Some(mode) = mode {
        options.mode(mode);
    }
    let mut file = options.open(path)?;
    if let Some(mode) = mode {
        // Of the mode at its opening the process's mask takes some.
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::folder_with;

    #[test]
    fn a_file_is_replaced_whole_with_its_permissions_and_its_links() {
        let folder = folder_with(&[("a", "before")]);
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| std::fs::metadata(at(name)).expect("is there").permissions().mode();
        std::fs::set_permissions(at("a"), Permissions::from_mode(0o640)).expect("sets");
        std::os::unix::fs::symlink("a", at("link")).expect("links");
        write(&at("link"), b"after").expect("writes");
        assert_eq!(
            (std::fs::read(at("a")).expect("reads"), mode("a") & 0o777),
            (b"after".to_vec(), 0o640)
        );
        assert!(at("link").is_symlink());
        write_private(&at("new/b"), b"x").expect("writes");
        assert_eq!(mode("new/b") & 0o777, 0o600);
        write(Path::new("/dev/null"), b"x").expect("writes");
        // What fails leaves nothing, and what was there.
        std::fs::create_dir(at("c")).expect("makes");
        assert!(replace(&at("c"), b"x", None).is_err());
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .expect("reads")
            .map(|entry| entry.expect("reads").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a", "c", "link", "new"]);
    }
}
