//! Self-confinement of a process of this program, before it reads anything untrusted.

use std::io;
use std::os::fd::AsRawFd as _;

use crate::landlock::{self, Files};
use crate::limits::{drop_capabilities, limit, limit_cpu_time};
use crate::seccomp::{self, Profile};
use crate::{Kernel, checked};

/// The main thread's stack may not grow beside the limit of memory. Bytes.
const STACK_BYTES: u64 = 8 << 20;

/// What a process may still do.
#[derive(Debug)]
pub struct Confinement {
    /// Of these, those that are to stand.
    pub walls: Kernel,
    /// The files that it reads and writes.
    pub files: Files,
    /// Which system calls it can do without.
    pub profile: Profile,
    /// Memory that is private and can be written to, stacks of threads by their addresses. Bytes.
    pub data_bytes_max: u64,
    /// The largest file that it writes, bytes.
    pub file_bytes_max: u64,
    /// Descriptors that are open at once.
    pub descriptors_max: u64,
    /// CPU time of all threads together, seconds.
    pub cpu_seconds_max: u64,
}

/// Walls this process in: for good, and also what it starts. No other thread may have been started
/// yet, for they would stay outside. All descriptors but the first three are closed, and the
/// process ends with the thread that started it.
///
/// # Errors
/// Where the kernel refuses one of them: the process is not to go on then.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub fn confine(confinement: &Confinement) -> io::Result<()> {
    // SAFETY: plain system calls. Nothing that the standard library opened by itself is beyond the
    // first three.
    unsafe {
        checked(libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32))?;
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        libc::umask(0o077);
    }
    for (resource, value) in [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_NOFILE, confinement.descriptors_max),
        (libc::RLIMIT_FSIZE, confinement.file_bytes_max),
        (libc::RLIMIT_DATA, confinement.data_bytes_max),
        (libc::RLIMIT_STACK, STACK_BYTES),
        (libc::RLIMIT_MEMLOCK, 0),
    ] {
        limit(resource, value)?;
    }
    limit_cpu_time(confinement.cpu_seconds_max)?;
    let Kernel { landlock_abi, seccomp } = confinement.walls;
    if landlock_abi.is_some() || seccomp {
        drop_capabilities()?;
    }
    if landlock_abi.is_some() {
        landlock::restrict(landlock::ruleset(&confinement.files)?.as_raw_fd(), &[])?;
    }
    if seccomp {
        let mut filters = seccomp::filters(confinement.profile)?;
        filters.push(seccomp::last(None)?);
        seccomp::install(&mut filters)?;
    }
    Ok(())
}
