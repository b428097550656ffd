//! Which walls this machine has.

use std::fmt;

use crate::egress;
use crate::types::StartError;

/// What is done where a wall is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walls {
    /// The runner does not start.
    #[default]
    Required,
    /// The others are put up.
    BestEffort,
    /// None is put up: for machines whose every component is trusted.
    Off,
}

/// The walls that stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallReport {
    /// Files, by Landlock: its version; None: missing or off.
    pub landlock_abi: Option<u32>,
    /// System calls, by seccomp-bpf.
    pub seccomp: bool,
    /// Connections, by seccomp user notification: the egress guard.
    pub egress: bool,
}

impl WallReport {
    /// None stands.
    pub(crate) const NONE: Self = Self { landlock_abi: None, seccomp: false, egress: false };

    /// What is missing, in words; empty where all stand.
    pub fn missing(&self) -> Vec<&'static str> {
        let landlock = self.landlock_abi.is_none().then_some("Landlock (files; Linux 5.13 or newer with `landlock` in its `lsm=` list)");
        let seccomp = (!self.seccomp).then_some("seccomp-bpf (system calls; a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64)");
        let egress = (!self.egress).then_some(
            "egress guard (connections; Linux 5.6 or newer with seccomp user notification, and a container that lets it use pidfd_getfd, as with CAP_SYS_PTRACE)",
        );
        landlock.into_iter().chain(seccomp).chain(egress).collect()
    }
}

impl fmt::Display for WallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock_abi {
            Some(abi) => write!(f, "Landlock (version {abi})")?,
            None => write!(f, "no Landlock")?,
        }
        f.write_str(if self.seccomp { ", seccomp-bpf" } else { ", no seccomp-bpf" })?;
        f.write_str(if self.egress { ", egress guard" } else { ", no egress guard" })?;
        f.write_str(", no_new_privs, cleared environment, closed descriptors, limits of memory, files and disk")
    }
}

/// Asks the kernel which walls it has; puts up none.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub fn probe() -> WallReport {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    const SECCOMP_GET_ACTION_AVAIL: u32 = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: both calls only answer a question.
    let (abi, seccomp) = unsafe {
        (
            libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, LANDLOCK_CREATE_RULESET_VERSION),
            libc::syscall(libc::SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const action),
        )
    };
    let known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let seccomp = known && seccomp == 0;
    WallReport { landlock_abi: u32::try_from(abi).ok().filter(|abi| *abi > 0), seccomp, egress: seccomp && egress::available() }
}

/// The walls to put up, of those that the machine has.
///
/// # Errors
/// `WallMissing` where one is required and missing.
pub(crate) fn check(walls: Walls, found: WallReport) -> Result<WallReport, StartError> {
    match walls {
        Walls::Off => Ok(WallReport::NONE),
        Walls::BestEffort => Ok(found),
        Walls::Required if found.missing().is_empty() => Ok(found),
        Walls::Required => Err(StartError::WallMissing { missing: found.missing().join(" and ") }),
    }
}
