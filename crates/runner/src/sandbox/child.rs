//! What happens in the child between fork and exec.

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::Path;

use seccompiler::BpfProgram;

use super::private::Private;
use super::{Sandbox, landlock, seccomp};
use crate::egress;

/// Descriptors that a host may have open.
const FILES_MAX: u64 = 1024;
/// The descriptor of the wire in the host.
const WIRE_FD: i32 = 3;
/// Memory beside the heap: Node itself (80 MiB), buffers, threads. MiB.
pub(crate) const BESIDE_HEAP_MB: u64 = 512;
/// Of the first thread: without a bound the kernel would let it grow beside the limit of data. Bytes.
const STACK_BYTES: u64 = 8 << 20;
/// Numbers of the host itself that Node reads: `process.memoryUsage()` fails without them. Nothing else in /proc is open, for there is
/// the environment of the server.
const OWN_PROC_FILES: [&CStr; 3] = [c"/proc/self/stat", c"/proc/self/statm", c"/proc/self/status"];

/// Everything that the child needs, made before the fork.
pub(super) struct Confinement {
    wire_fd: i32,
    /// The server.
    parent: i32,
    data_bytes_max: u64,
    file_bytes_max: u64,
    /// Drops capabilities: those of root would go around the walls' premises.
    walled: bool,
    ruleset: Option<OwnedFd>,
    filters: Vec<BpfProgram>,
    /// Where it enters its control group.
    entry: Option<OwnedFd>,
    /// The egress guard's filter, and the socket on which its listener goes to the server.
    guarded: Option<(BpfProgram, OwnedFd)>,
}

impl Confinement {
    pub(super) fn prepare(
        sandbox: &Sandbox,
        script: &Path,
        private: &Private,
        wire_fd: i32,
        handover: Option<OwnedFd>,
        entry: Option<OwnedFd>,
        heap_mb: u32,
    ) -> std::io::Result<Self> {
        let ruleset = match sandbox.walls.landlock_abi {
            Some(_) => Some(above_wire(landlock::ruleset(&sandbox.node, script, private)?)?),
            None => None,
        };
        let filters = if sandbox.walls.seccomp { seccomp::filters()? } else { Vec::new() };
        Ok(Self {
            wire_fd,
            parent: i32::try_from(std::process::id()).unwrap_or(0),
            // Counts what is private and writable: V8 reserves far more than it uses, so the address space cannot be limited.
            data_bytes_max: (u64::from(heap_mb) + BESIDE_HEAP_MB) << 20,
            file_bytes_max: sandbox.file_bytes_max,
            walled: ruleset.is_some() || !filters.is_empty(),
            ruleset,
            filters,
            entry: entry.map(above_wire).transpose()?,
            guarded: match handover {
                Some(handover) => Some((egress::filter(), above_wire(handover)?)),
                None => None,
            },
        })
    }

    /// Only async-signal-safe system calls; no allocation.
    #[expect(unsafe_code, reason = "system calls without a safe wrapper")]
    pub(super) fn apply(&mut self) -> std::io::Result<()> {
        // SAFETY: plain system calls on values of our own, in the child before exec.
        unsafe {
            if self.wire_fd == WIRE_FD {
                check(libc::fcntl(WIRE_FD, libc::F_SETFD, 0))?;
            } else {
                check(libc::dup2(self.wire_fd, WIRE_FD))?;
            }
            check_long(libc::syscall(libc::SYS_close_range, 4u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC))?;
            check(libc::setsid())?;
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            if libc::getppid() != self.parent {
                // The server died before the line above.
                return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
            }
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            libc::umask(0o077);
        }
        if let Some(entry) = &self.entry {
            // SAFETY: the text is a constant: whoever writes it enters.
            check_long(unsafe { libc::write(entry.as_raw_fd(), c"0".as_ptr().cast(), 1) } as libc::c_long)?;
        }
        // RLIMIT_NPROC counts all processes of the user, the server's threads among them: it would let one host starve the others.
        // A host cannot fork (seccomp), and its threads are counted from time to time, and by its control group.
        limit(libc::RLIMIT_CORE, 0)?;
        let handover = match &self.guarded {
            Some((_, handover)) => Some(beyond_reach(handover.as_raw_fd())?),
            None => None,
        };
        limit(libc::RLIMIT_NOFILE, files_max()?)?;
        limit(libc::RLIMIT_FSIZE, self.file_bytes_max)?;
        limit(libc::RLIMIT_DATA, self.data_bytes_max)?;
        limit(libc::RLIMIT_STACK, STACK_BYTES)?;
        limit(libc::RLIMIT_MEMLOCK, 0)?;
        if self.walled {
            drop_capabilities()?;
        }
        if let Some(ruleset) = &self.ruleset {
            landlock::restrict(ruleset.as_raw_fd(), &OWN_PROC_FILES)?;
        }
        // Last: the filters close what was needed above.
        seccomp::install(&mut self.filters)?;
        if let (Some((filter, _)), Some(handover)) = (&mut self.guarded, handover) {
            // Both are closed by exec.
            egress::send(handover, &egress::install(filter, handover)?)?;
        }
        Ok(())
    }
}

/// The number of the wire is taken in the child: what is needed there must not have it.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn above_wire(fd: OwnedFd) -> std::io::Result<OwnedFd> {
    if fd.as_raw_fd() != WIRE_FD {
        return Ok(fd);
    }
    // SAFETY: the copy is a new descriptor that nobody else owns.
    unsafe {
        let copy = libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, WIRE_FD + 1);
        check(copy)?;
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

fn check(result: i32) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn check_long(result: libc::c_long) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Never above what the server itself has.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn limit(resource: libc::__rlimit_resource_t, value: u64) -> std::io::Result<()> {
    let value = value.min(hard_limit(resource)?);
    // SAFETY: a plain system call on a value of our own.
    check(unsafe { libc::setrlimit(resource, &libc::rlimit { rlim_cur: value, rlim_max: value }) })
}

#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn hard_limit(resource: libc::__rlimit_resource_t) -> std::io::Result<u64> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain system call on a value of our own.
    check(unsafe { libc::getrlimit(resource, &raw mut now) })?;
    Ok(now.rlim_max)
}

/// One below what there is at least: room is needed for a number that the host cannot have.
fn files_max() -> std::io::Result<u64> {
    Ok(FILES_MAX.min(hard_limit(libc::RLIMIT_NOFILE)?.saturating_sub(1)))
}

/// A copy of a descriptor whose number is beyond the host's limit: once closed, the host can never have it again, so the egress guard's filter
/// can let pass what is sent on it.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
fn beyond_reach(fd: i32) -> std::io::Result<i32> {
    let hard = hard_limit(libc::RLIMIT_NOFILE)?;
    let least = i32::try_from(files_max()?).unwrap_or(i32::MAX);
    // SAFETY: plain system calls; the copy is closed by exec.
    unsafe {
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: hard, rlim_max: hard }))?;
        let copy = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least);
        check(copy)?;
        Ok(copy)
    }
}

/// With no_new_privs, exec gives none back, also not to root.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn drop_capabilities() -> std::io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    /// `_LINUX_CAPABILITY_VERSION_3`, whose sets are two words each.
    const VERSION: u32 = 0x2008_0522;
    let header = Header { version: VERSION, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: header and data have the layout that the version says.
    check_long(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })
}
