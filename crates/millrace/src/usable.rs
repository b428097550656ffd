//! Access checks of files and folders before they are used: a start that is refused names the
//! owner, and the way to mend it.

use std::fmt;
use std::fs::{FileType, Metadata};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::Access;
use rustix::io::Errno;

/// What a server cannot start with: refused by `serve`, told by `doctor`.
#[derive(Debug)]
pub struct Unusable {
    /// What was found.
    pub found: String,
    /// What to do.
    pub mend: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.found, self.mend)
    }
}

impl std::error::Error for Unusable {}

/// A file that is read and written, where it is there. It is not opened: to open a pipe is to wait
/// for its other end.
pub fn file(what: &str, path: &Path) -> Result<(), Unusable> {
    of_kind(what, path, "file", Metadata::is_file, Access::READ_OK | Access::WRITE_OK)
}

/// A file that is read, where it is there.
pub fn file_to_read(what: &str, path: &Path) -> Result<(), Unusable> {
    of_kind(what, path, "file", Metadata::is_file, Access::READ_OK)
}

/// A folder that files are made in, where it is there.
pub fn folder(what: &str, path: &Path) -> Result<(), Unusable> {
    of_kind(
        what,
        path,
        "folder",
        Metadata::is_dir,
        Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK,
    )
}

fn of_kind(
    what: &str,
    path: &Path,
    kind: &str,
    fits: impl Fn(&Metadata) -> bool,
    wanted: Access,
) -> Result<(), Unusable> {
    let shown = path.display();
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(Unusable {
                found: format!("{what} `{shown}` cannot be looked at: {error}"),
                mend: "give the folders above it to the server's user".into(),
            });
        }
    };
    if !fits(&meta) {
        return Err(Unusable {
            found: format!("{what} `{shown}` is no {kind} but {}", name(meta.file_type())),
            mend: format!(
                "move it away; where a {kind} was in its place, put that back, or restore a backup (docs/operate/durability.md)"
            ),
        });
    }
    rustix::fs::access(path, wanted).map_err(|errno| refused(what, path, &meta, wanted, errno))
}

fn name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_file() => "a file",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn refused(what: &str, path: &Path, meta: &Metadata, wanted: Access, errno: Errno) -> Unusable {
    // SAFETY: it cannot fail.
    let user = unsafe { libc::geteuid() };
    let (verbs, rights) = match wanted {
        Access::READ_OK => ("read", "r"),
        wanted if wanted.contains(Access::EXEC_OK) => ("read and written in", "rwx"),
        _ => ("read and written", "rw"),
    };
    let (shown, owner, mode) = (path.display(), meta.uid(), meta.mode() & 0o7777);
    Unusable {
        found: format!(
            "{what} `{shown}` may not be {verbs} by this user ({user}): {errno}; it belongs to user {owner}, with the rights {mode:04o}"
        ),
        mend: match errno {
            Errno::ROFS => "mount its file system for writing".into(),
            _ => format!(
                "give it to the server's user: `chown {user} {shown}` and `chmod u+{rights} {shown}`"
            ),
        },
    }
}
