//! How a host process is started: what it inherits is what this module gives it, and nothing else.
//! Kernel walls (Landlock, seccomp) belong here.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

/// Descriptors that a host may have open.
const FILES_MAX: u64 = 1024;
/// The descriptor of the wire in the host.
const WIRE_FD: i32 = 3;

/// A started process and its ends.
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) wire: UnixStream,
    /// Removed with the host.
    pub(crate) tmp: TempDir,
}

/// What a host is started with.
pub(crate) struct Launch<'a> {
    pub(crate) node: &'a Path,
    pub(crate) script: &'a Path,
    pub(crate) scratch_dir: &'a Path,
    pub(crate) heap_mb: u32,
}

/// Starts a host: environment cleared, descriptors closed but the wire, own session, private temporary folder.
pub(crate) fn launch(launch: &Launch<'_>) -> std::io::Result<Launched> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let wire = UnixStream::from_std(ours)?;
    let tmp = tempfile::Builder::new().prefix("host-").tempdir_in(launch.scratch_dir)?;
    let mut command = Command::new(launch.node);
    command
        .arg(format!("--max-old-space-size={}", launch.heap_mb))
        .arg("--enable-source-maps")
        .arg("--no-warnings")
        .arg(launch.script)
        .env_clear()
        .env("HOME", tmp.path())
        .env("TMPDIR", tmp.path())
        .env("TZ", "UTC")
        .current_dir(tmp.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let theirs = OwnedFd::from(theirs);
    let wire_fd = theirs.as_raw_fd();
    #[expect(unsafe_code, reason = "only pre_exec can shape a child between fork and exec")]
    // SAFETY: the closure only makes async-signal-safe system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || confine(wire_fd));
    }
    let child = command.spawn()?;
    drop(theirs);
    Ok(Launched { child, wire, tmp })
}

#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
fn confine(wire_fd: i32) -> std::io::Result<()> {
    let check = |result: i32| if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: plain system calls on values of our own, in the child before exec.
    unsafe {
        if wire_fd == WIRE_FD {
            check(libc::fcntl(WIRE_FD, libc::F_SETFD, 0))?;
        } else {
            check(libc::dup2(wire_fd, WIRE_FD))?;
        }
        check(i32::try_from(libc::syscall(libc::SYS_close_range, 4u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)).unwrap_or(0))?;
        check(libc::setsid())?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        libc::umask(0o077);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        check(libc::setrlimit(libc::RLIMIT_CORE, &none))?;
        let files = libc::rlimit { rlim_cur: FILES_MAX, rlim_max: FILES_MAX };
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &files))?;
    }
    Ok(())
}
