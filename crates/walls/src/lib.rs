//! The kernel's walls around a process that strangers' code runs in, or that reads it: files
//! (Landlock), system calls (seccomp-bpf), limits, control groups. Also: what it left in folders,
//! removed ([`folders`]). Who is walled in, and how far, is said by whoever starts the process.
//!
//! A host is walled between fork and exec, with what was made before the fork
//! ([`landlock::ruleset`], [`seccomp::filters`]); a program of ours walls itself before it reads
//! anything of a stranger's ([`own::confine`]).

pub mod cgroup;
pub mod folders;
pub mod landlock;
pub mod limits;
pub mod oom;
pub mod own;
pub mod readable;
pub mod seccomp;
pub mod taken;
pub mod watches;

use std::fmt;

/// What the kernel has of the walls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Files, by Landlock: its version; None: missing.
    pub landlock_abi: Option<u32>,
    /// System calls, by seccomp-bpf.
    pub seccomp: bool,
}

impl Kernel {
    /// Neither is put up.
    pub const NONE: Self = Self { landlock_abi: None, seccomp: false };
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock_abi {
            Some(abi) => write!(f, "Landlock (version {abi})")?,
            None => f.write_str("no Landlock")?,
        }
        f.write_str(if self.seccomp { ", seccomp-bpf" } else { ", no seccomp-bpf" })
    }
}

/// Asks the kernel which walls it has; puts up none.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub fn probe() -> Kernel {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    const SECCOMP_GET_ACTION_AVAIL: u32 = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: both calls only answer a question.
    let (abi, seccomp) = unsafe {
        (
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                std::ptr::null::<u8>(),
                0usize,
                LANDLOCK_CREATE_RULESET_VERSION,
            ),
            libc::syscall(libc::SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const action),
        )
    };
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    Kernel {
        landlock_abi: u32::try_from(abi).ok().filter(|abi| *abi > 0),
        seccomp: known && seccomp == 0,
    }
}

/// What a system call says, as a result.
///
/// # Errors
/// The error that the call left, where it says that it failed.
pub fn checked(result: libc::c_long) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
