//! Packages of npm that tests speak to, installed beside the build.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::binary;

/// One installation at a time: `npm ci` takes away what another test already reads.
static INSTALLS: Mutex<()> = Mutex::new(());

/// The folder of the peer `name` of `tests/peers`: the files there with their packages. They
/// are installed once for a lock file. None where npm or its registry is not there, which is said.
#[expect(clippy::print_stderr, reason = "what was not tested is said")]
pub fn peer(name: &str) -> Option<PathBuf> {
    let _one = INSTALLS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
    let folder = binary().parent()?.join("peers").join(name);
    std::fs::create_dir_all(&folder).ok()?;
    for file in from.read_dir().ok()?.flatten() {
        let (new, at) = (std::fs::read(file.path()).ok()?, folder.join(file.file_name()));
        // What is the same is not written again: another test's Node may be reading it.
        if std::fs::read(&at).is_ok_and(|was| was == new) {
            continue;
        }
        std::fs::write(at, new).ok()?;
    }
    // Written last: an installation that was cut off begins again.
    let lock = std::fs::read(folder.join("package-lock.json")).ok()?;
    let installed = folder.join("node_modules/.installed");
    if std::fs::read(&installed).is_ok_and(|of| of == lock) {
        return Some(folder);
    }
    let done = Command::new("npm")
        .args(["ci", "--silent"])
        .current_dir(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !done {
        eprintln!("skipped: {name} could not be installed: it needs npm and its registry");
        return None;
    }
    std::fs::write(installed, lock).ok()?;
    Some(folder)
}
