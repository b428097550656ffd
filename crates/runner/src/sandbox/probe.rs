//! Probe of the kernel for the walls that it supports.

use std::fmt;

use millrace_walls::Kernel;

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

    /// Those that the kernel puts up for other processes than hosts too.
    pub fn kernel(&self) -> Kernel {
        Kernel { landlock_abi: self.landlock_abi, seccomp: self.seccomp }
    }

    /// What is missing, in words; empty where all stand.
    pub fn missing(&self) -> Vec<&'static str> {
        let landlock = self
            .landlock_abi
            .is_none()
            .then_some("Landlock (files; Linux 5.13 or newer with `landlock` in its `lsm=` list)");
        let seccomp = (!self.seccomp).then_some(
            "seccomp-bpf (system calls; a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64)",
        );
        let egress = (!self.egress).then_some(
            "egress guard (connections; Linux 5.6 or newer with seccomp user notification, and a container that lets it use pidfd_getfd, as with CAP_SYS_PTRACE)",
        );
        landlock.into_iter().chain(seccomp).chain(egress).collect()
    }
}

impl fmt::Display for WallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kernel())?;
        f.write_str(if self.egress { ", egress guard" } else { ", no egress guard" })?;
        f.write_str(", no_new_privs, cleared environment, closed descriptors, limits of memory, files and disk")
    }
}

/// Asks the kernel which walls it has; puts up none.
pub fn probe() -> WallReport {
    let Kernel { landlock_abi, seccomp } = millrace_walls::probe();
    WallReport { landlock_abi, seccomp, egress: seccomp && egress::available() }
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
