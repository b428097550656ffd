//! The folder of one host: `code`, which it reads, and `tmp`, where it writes.
//!
//! A blank host is started, and walled, before it is known what it will load. So it may read a folder of its own that is empty then, and its
//! artifact is linked into it before `load`: the wall is the same for all hosts, and none can read what another one loads.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::types::ModuleSpec;

/// Files and folders below `tmp` that a host may have.
const ENTRIES_MAX: usize = 100_000;

/// The private folder of a host, removed with it.
pub(crate) struct Private {
    dir: Option<TempDir>,
    code: PathBuf,
    tmp: PathBuf,
}

/// What a host keeps in its `tmp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    Bytes(u64),
    /// Too many files, or so deep or so closed that they cannot be counted.
    Uncountable,
}

impl Private {
    pub(crate) fn new(scratch_dir: &Path) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("host-").tempdir_in(scratch_dir)?;
        let (code, tmp) = (dir.path().join("code"), dir.path().join("tmp"));
        for folder in [&code, &tmp] {
            std::fs::DirBuilder::new().mode(0o700).create(folder)?;
        }
        Ok(Self { dir: Some(dir), code, tmp })
    }

    pub(crate) fn code(&self) -> &Path {
        &self.code
    }

    pub(crate) fn tmp(&self) -> &Path {
        &self.tmp
    }

    /// Brings modules and their source maps in; gives their paths there.
    ///
    /// # Errors
    /// Where a module's file is missing or cannot be linked or copied.
    pub(crate) fn admit(&self, modules: &[ModuleSpec]) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::with_capacity(modules.len());
        for (n, module) in modules.iter().enumerate() {
            let name = module.path.file_name().ok_or_else(|| io::Error::other("a module's path names no file"))?;
            // A folder each: files of one name may come from several places.
            let folder = self.code.join(n.to_string());
            std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
            bring(&module.path, &folder.join(name))?;
            let (mut map, mut map_name) = (module.path.clone().into_os_string(), name.to_owned());
            map.push(".map");
            map_name.push(".map");
            match bring(Path::new(&map), &folder.join(map_name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            paths.push(folder.join(name));
        }
        Ok(paths)
    }

    /// What is kept in a host's `tmp`: in files, and in files that were unlinked and are open still.
    pub(crate) fn usage(tmp: &Path, pid: Option<u32>) -> Usage {
        let (mut bytes, mut entries, mut folders) = (0u64, 0usize, vec![tmp.to_owned()]);
        while let Some(folder) = folders.pop() {
            let list = match std::fs::read_dir(&folder) {
                Ok(list) => list,
                // It may have gone meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => return Usage::Uncountable,
            };
            for entry in list.flatten() {
                entries += 1;
                if entries > ENTRIES_MAX {
                    return Usage::Uncountable;
                }
                // Not of what a link leads to.
                let Ok(meta) = entry.metadata() else { continue };
                bytes = bytes.saturating_add(meta.blocks() * 512);
                if meta.is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        let open = pid.and_then(|pid| std::fs::read_dir(format!("/proc/{pid}/fd")).ok());
        for entry in open.into_iter().flatten().flatten() {
            if let Ok(meta) = std::fs::metadata(entry.path())
                && meta.is_file()
                && meta.nlink() == 0
            {
                bytes = bytes.saturating_add(meta.blocks() * 512);
            }
        }
        Usage::Bytes(bytes)
    }

    /// Removes it without blocking the caller's thread.
    pub(crate) async fn remove(self) {
        // Where the task is lost, the runtime ends, and the next start removes what is left.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take() else { return };
        let path = dir.keep();
        if let Err(error) = clear(&path).and_then(|()| std::fs::remove_dir(&path)) {
            tracing::warn!(path = %path.display(), %error, "the folder of a host could not be removed");
        }
    }
}

/// Links where it can: the same file, at once. The file is made read-only first, for rights of files are all that keeps an old kernel's
/// host from emptying it.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let mut permissions = std::fs::metadata(from)?.permissions();
    if permissions.mode() & 0o222 != 0 {
        permissions.set_mode(0o400);
        std::fs::set_permissions(from, permissions)?;
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        // Another file system.
        Err(_) => std::fs::copy(from, to).map(drop),
    }
}

/// Empties a folder that a stranger filled: however deep it is nested and whatever its rights are, in constant memory and with few
/// descriptors. What is nested is moved up, so paths stay short.
pub(crate) fn clear(root: &Path) -> io::Result<()> {
    let mut moved = 0u64;
    loop {
        let mut empty = true;
        for entry in std::fs::read_dir(root)? {
            let entry = entry?;
            empty = false;
            if !entry.file_type()?.is_dir() {
                std::fs::remove_file(entry.path())?;
                continue;
            }
            let folder = entry.path();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
            for child in std::fs::read_dir(&folder)? {
                let child = child?;
                if child.file_type()?.is_dir() {
                    // A folder is moved only where it may be written: its `..` changes.
                    std::fs::set_permissions(child.path(), std::fs::Permissions::from_mode(0o700))?;
                    moved += 1;
                    std::fs::rename(child.path(), root.join(format!(".moved-{moved}")))?;
                } else {
                    std::fs::remove_file(child.path())?;
                }
            }
            match std::fs::remove_dir(&folder) {
                // Something came in while it was read: the next round sees it.
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => return Err(error),
                _ => {}
            }
        }
        if empty {
            return Ok(());
        }
    }
}
