//! Folders with untrusted content, which may change meanwhile: a folder of a moment ago may be a
//! link to the server's own files. So they are traversed by descriptors of folders, never by paths,
//! and no link is followed.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

/// How folders of strangers are opened.
pub const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether a name in a folder is that of the folder itself or of the one above.
pub fn is_itself(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}

/// Removes a folder that a stranger filled, as [`clear`] empties it.
///
/// # Errors
/// Of the system: what is left can be removed another time.
pub fn remove(folder: &Path) -> io::Result<()> {
    clear(folder)?;
    std::fs::remove_dir(folder)
}

/// Empties a folder that a stranger filled: however deep it is nested and whatever its rights are,
/// in constant memory and with few descriptors. What is nested is moved up, so paths stay short.
/// Links are removed, and never followed, also where somebody is still at work there.
///
/// # Errors
/// Of the system: what is left can be cleared another time.
pub fn clear(root: &Path) -> io::Result<()> {
    clear_while(root, || {})
}

/// [`clear`], with what happens each time between the listing of a folder and its opening, and
/// between its opening and its moving: in a server, whatever a host does then.
///
/// # Errors
/// As [`clear`].
pub fn clear_while(root: &Path, mut meanwhile: impl FnMut()) -> io::Result<()> {
    let root = rustix::fs::openat(CWD, root, FOLDER, Mode::empty())?;
    let mut moved = 0u64;
    loop {
        let mut empty = true;
        for name in names(&root)? {
            let name = name?;
            empty = false;
            if removed(&root, &name)? {
                continue;
            }
            meanwhile();
            let Some(folder) = opened(&root, &name)? else { continue };
            for child in names(&folder)? {
                let child = child?;
                if removed(&folder, &child)? {
                    continue;
                }
                meanwhile();
                // A folder is moved only where it may be written: its `..` changes.
                if opened(&folder, &child)?.is_some() {
                    meanwhile();
                    move_up(&folder, &child, &root, &mut moved)?;
                }
            }
            match rustix::fs::unlinkat(&root, &*name, AtFlags::REMOVEDIR) {
                // Something came in while it was read, or it is another one: the next round sees
                // it.
                Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if empty {
            return Ok(());
        }
    }
}

fn names(folder: &OwnedFd) -> io::Result<impl Iterator<Item = io::Result<CString>>> {
    let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| match entry {
        Ok(entry) if is_itself(entry.file_name().to_bytes()) => None,
        Ok(entry) => Some(Ok(entry.file_name().to_owned())),
        Err(error) => Some(Err(error.into())),
    };
    Ok(Dir::read_from(folder)?.filter_map(name))
}

/// Removes what is no folder, a link itself too. False: it is a folder.
fn removed(folder: &OwnedFd, name: &CString) -> io::Result<bool> {
    match rustix::fs::unlinkat(folder, &**name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A folder that may be read and written from now on, whatever its rights were. None: it is gone,
/// or is no folder any more.
fn opened(folder: &OwnedFd, name: &CString) -> io::Result<Option<OwnedFd>> {
    let found = match rustix::fs::openat(
        folder,
        &**name,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // Of this very folder, whatever has its name by now.
    std::fs::set_permissions(
        format!("/proc/self/fd/{}", found.as_raw_fd()),
        std::fs::Permissions::from_mode(0o700),
    )?;
    Ok(Some(rustix::fs::openat(&found, c".", FOLDER, Mode::empty())?))
}

/// Moves a folder to a name below `root` that nothing has.
fn move_up(from: &OwnedFd, name: &CString, root: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match rustix::fs::renameat(from, &**name, root, format!(".moved-{moved}")) {
            // What was broken off before left that name.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::ISDIR) => {}
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
