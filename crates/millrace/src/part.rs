//! Folder of a backup while it is being filled, beside the name that it gets once it is whole.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::data_dir::rename;

/// It goes unless it was finished. The kernel gives up its lock when the process ends, however it
/// ends.
pub(crate) struct Part {
    path: PathBuf,
    held: OwnedFd,
    is_finished: bool,
}

impl Part {
    /// Makes `<folder>.part`, or takes over and empties the one that a backup left which was
    /// killed. Nothing is removed but files with these names, or with the names that those have
    /// while they are written.
    ///
    /// # Errors
    /// Where another backup is being made there, where it is another user's, and where it holds
    /// anything else.
    pub(crate) fn make(folder: &Path, names: &[&str]) -> Result<Self> {
        let mut name = folder.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let shown = path.display();
        let is_new = match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            made => made.map(|()| true).with_context(|| format!("could not make `{shown}`"))?,
        };
        let held = rustix::fs::open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
            .with_context(|| format!("could not open the folder `{shown}`, in which the backup is made; remove what is there, or name another folder"))?;
        match rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => bail!(
                "another backup is being made in `{shown}`; wait until it ends, or name another folder"
            ),
            Err(errno) if !is_new => {
                return Err(errno).with_context(|| format!("could not find out whether a backup is being made in `{shown}`; if none is, remove it"));
            }
            // Not all file systems have such locks.
            _ => {}
        }
        let part = Self { path, held, is_finished: false };
        match part.is_in_place() {
            Ok(true) if is_new => Ok(part),
            Ok(true) => part.empty(names),
            // What is there now is not this one's to remove.
            Ok(false) | Err(_) => part.leave(|part| {
                bail!("another backup was made in `{}` meanwhile; try again", part.path.display())
            }),
        }
    }

    /// Gives it its name.
    pub(crate) fn finish(mut self, folder: &Path) -> Result<()> {
        rename(&self.path, folder).with_context(|| {
            format!("could not give the backup its name `{}`", folder.display())
        })?;
        self.is_finished = true;
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another has not finished it, or removed it, before it was held.
    fn is_in_place(&self) -> std::io::Result<bool> {
        let (there, held) =
            (std::fs::symlink_metadata(&self.path)?, rustix::fs::fstat(&self.held)?);
        Ok((there.dev(), there.ino()) == (held.st_dev, held.st_ino))
    }

    fn empty(self, names: &[&str]) -> Result<Self> {
        match self.remove_left(names) {
            Ok(()) => Ok(self),
            Err(error) => self.leave(|_| Err(error)),
        }
    }

    /// Answers without taking the folder away.
    fn leave(mut self, answer: impl FnOnce(&Self) -> Result<Self>) -> Result<Self> {
        self.is_finished = true;
        answer(&self)
    }

    /// By the folder that is held, wherever its name leads meanwhile.
    fn remove_left(&self, names: &[&str]) -> Result<()> {
        let shown = self.path.display();
        let owner = rustix::fs::fstat(&self.held)
            .with_context(|| format!("could not look at `{shown}`"))?
            .st_uid;
        if owner != rustix::process::geteuid().as_raw() {
            bail!("`{shown}` is another user's; remove it, or name another folder for the backup");
        }
        let listed = || {
            Dir::read_from(&self.held)?
                .map(|entry| Ok(entry?.file_name().to_owned()))
                .collect::<rustix::io::Result<Vec<_>>>()
        };
        let left = listed().with_context(|| format!("could not read the folder `{shown}`"))?;
        let left: Vec<_> =
            left.into_iter().filter(|name| ![c".", c".."].contains(&name.as_c_str())).collect();
        let may_go = |name: &str| {
            names.iter().any(|known| {
                *known == name || Path::new(known).with_extension("part") == Path::new(name)
            })
        };
        if let Some(other) = left.iter().find(|name| !name.to_str().is_ok_and(may_go)) {
            bail!(
                "`{shown}` holds `{}`, which is of no backup; remove the folder, or name another one for the backup",
                other.to_string_lossy()
            );
        }
        for name in left {
            rustix::fs::unlinkat(&self.held, &name, AtFlags::empty()).with_context(|| {
                format!(
                    "could not remove `{}` from `{shown}`, which a backup that was broken off left",
                    name.to_string_lossy()
                )
            })?;
        }
        rustix::fs::fchmod(&self.held, Mode::RWXU)
            .with_context(|| format!("could not close `{shown}` to others"))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_finished {
            // Where it stays, the next backup takes it over.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
