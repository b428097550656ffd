//! Limits that a process sets for itself, and capabilities that it gives up: only system calls, so
//! that a child may make them before exec.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use crate::checked;

/// Sets a limit, never above what the process itself has.
///
/// # Errors
/// Where the kernel refuses it.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub fn limit(resource: libc::__rlimit_resource_t, value: u64) -> std::io::Result<()> {
    let value = value.min(hard_limit(resource)?);
    // SAFETY: a plain system call on a value of our own.
    checked(
        unsafe { libc::setrlimit(resource, &libc::rlimit { rlim_cur: value, rlim_max: value }) }
            .into(),
    )
}

/// Sets how much CPU time this process may use, of all its threads together: `SIGXCPU` ends
/// it then, and a second later it is killed.
///
/// # Errors
/// Where the kernel refuses it.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub fn limit_cpu_time(seconds: u64) -> std::io::Result<()> {
    let most = hard_limit(libc::RLIMIT_CPU)?;
    let limit =
        libc::rlimit { rlim_cur: seconds.min(most), rlim_max: seconds.saturating_add(1).min(most) };
    // SAFETY: a plain system call on a value of our own.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const limit) }.into())
}

/// Whether a process ended because it had used the CPU time of [`limit_cpu_time`].
#[must_use]
pub fn is_out_of_cpu_time(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGXCPU)
}

/// What a limit may be raised to.
///
/// # Errors
/// Where the kernel refuses to tell.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub fn hard_limit(resource: libc::__rlimit_resource_t) -> std::io::Result<u64> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain system call on a value of our own.
    checked(unsafe { libc::getrlimit(resource, &raw mut now) }.into())?;
    Ok(now.rlim_max)
}

/// With no_new_privs, exec gives none back, also not to root.
///
/// # Errors
/// Where the kernel refuses it.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
pub fn drop_capabilities() -> std::io::Result<()> {
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
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })
}
