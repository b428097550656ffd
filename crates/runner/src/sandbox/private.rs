//! The folder of one host: `code`, which it reads, and `tmp`, where it writes.
//!
//! A blank host is started, and walled, before it is known what it will load. So it may read a
//! folder of its own that is empty then, and its artifact is linked into it before `load`: the wall
//! is the same for all hosts, and none can read what another one loads.
//!
//! What a host makes in `tmp` is a stranger's, and may change under whoever looks at it: a folder
//! that was there a moment ago may be a link to the server's own files. So it is counted and
//! cleared away by descriptors of folders, never by paths, and no link is followed.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use millrace_walls::folders::{self, FOLDER};
use rustix::fs::{CWD, Mode, ResolveFlags};
use rustix::io::Errno;
use tempfile::TempDir;

use super::{beside, kept, removed};
use crate::types::ModuleSpec;

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
    /// The server has no descriptor or no memory left to look with: no fault of the host.
    NotNow,
}

impl Usage {
    pub(super) fn unknown(error: Errno) -> Self {
        if matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM) {
            Self::NotNow
        } else {
            Self::Uncountable
        }
    }
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
        admit(&self.code, modules)
    }

    /// What is kept in a host's `tmp`: in files, and in files and folders that were removed and are
    /// open still. Such a file that is open no more, and that memory leads to, cannot be counted.
    pub(crate) fn usage(tmp: &Path, pid: Option<u32>) -> Usage {
        Self::usage_while(tmp, pid, || {})
    }

    /// [`Private::usage`], with what happens each time between the listing of a folder and its
    /// opening: in a server, whatever a host does then.
    pub(super) fn usage_while(tmp: &Path, pid: Option<u32>, meanwhile: impl FnMut()) -> Usage {
        let root = match rustix::fs::openat(CWD, tmp, FOLDER, Mode::empty()) {
            Ok(root) => root,
            Err(error) => return Usage::unknown(error),
        };
        let bytes = match kept::count(&root, meanwhile) {
            Ok(bytes) => bytes,
            Err(usage) => return usage,
        };
        let Some(pid) = pid else { return Usage::Bytes(bytes) };
        if removed::is_mapped(&root, pid) {
            return Usage::Uncountable;
        }
        Usage::Bytes(bytes.saturating_add(removed::open(pid)))
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
        if let Err(error) = folders::remove(&path) {
            tracing::warn!(path = %path.display(), %error, "the folder of a host could not be removed");
        }
    }
}

/// [`Private::admit`], for a thread that may wait.
pub(crate) fn admit(code: &Path, modules: &[ModuleSpec]) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::with_capacity(modules.len());
    for (n, module) in modules.iter().enumerate() {
        let name = module
            .path
            .file_name()
            .ok_or_else(|| io::Error::other("a module's path names no file"))?;
        // A folder each: files of one name may come from several places.
        let folder = code.join(n.to_string());
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        bring(&module.path, &folder.join(name))?;
        let (mut map, mut map_name) = (module.path.clone().into_os_string(), name.to_owned());
        map.push(".map");
        map_name.push(".map");
        match bring(Path::new(&map), &folder.join(map_name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        if let Some(packages) = &module.packages {
            beside::lay(&packages.store, &packages.beside, &folder)?;
        }
        beside::lay_own(&module.path, &folder)?;
        paths.push(folder.join(name));
    }
    Ok(paths)
}

/// Links where it can: the same file, at once. The file is made read-only first, for rights of
/// files are all that keeps an old kernel's host from emptying it.
pub(super) fn bring(from: &Path, to: &Path) -> io::Result<()> {
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

/// The folder at a path below another, with no link on the way; None where it is gone, or is no
/// folder any more.
pub(super) fn below(root: &OwnedFd, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    let whole = if path.is_empty() { b"." } else { path };
    let found = match rustix::fs::openat2(
        root,
        whole,
        FOLDER,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    ) {
        // A kernel before 5.6, or a container that does not let it through: step by step.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, whole),
        found => found,
    };
    match found {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn step_by_step(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut folder = rustix::fs::openat(root, c".", FOLDER, Mode::empty())?;
    for part in path.split(|byte| *byte == b'/') {
        folder = rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?;
    }
    Ok(folder)
}
