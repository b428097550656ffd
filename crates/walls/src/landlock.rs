//! File-access rules (Landlock): files that a process may read, write and execute. Where the kernel
//! knows these, the process also cannot listen on TCP ports, nor send signals or connect to
//! abstract sockets outside.
//!
//! A host needs `execve` once, to start Node. Afterwards nothing is left to execute: the right is
//! given for Node's binary and its loader only, so neither a shell nor a file that the host wrote
//! can be started, and seccomp refuses the fork that would come first.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use crate::checked;

/// The newest rights that are asked for; an older kernel leaves out what it does not know.
const NEWEST: ABI = ABI::V7;

/// The files that a process reaches; paths that are not there are left out, for not every system
/// has all of them.
#[derive(Debug, Default)]
pub struct Files {
    /// Those that it may read and execute.
    pub execute: Vec<PathBuf>,
    /// Files and folders that it may read.
    pub read: Vec<PathBuf>,
    /// Folders that it may read, and write plain files, folders, links and pipes in.
    pub write: Vec<PathBuf>,
    /// It may connect to TCP ports, as far as nothing else keeps it from it; where the kernel knows
    /// these (Linux 6.7).
    pub connects: bool,
}

/// The ruleset of a process, as a descriptor.
///
/// # Errors
/// Where the kernel refuses it.
pub fn ruleset(files: &Files) -> std::io::Result<OwnedFd> {
    build(files).map_err(as_io)?.ok_or_else(|| std::io::Error::other("the kernel has no Landlock"))
}

/// The error of the system beneath, whose number says whether it may pass: without it all of them
/// look alike.
fn as_io(error: landlock::RulesetError) -> std::io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(this) = cause {
        if let Some(code) =
            this.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error)
        {
            return std::io::Error::from_raw_os_error(code);
        }
        cause = this.source();
    }
    std::io::Error::other(error)
}

fn build(files: &Files) -> Result<Option<OwnedFd>, landlock::RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    // No devices, no sockets, nothing to execute.
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::MakeFifo
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    let ports =
        if files.connects { AccessNet::BindTcp.into() } else { AccessNet::from_all(NEWEST) };
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(ports)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for (paths, access) in [
        (&files.execute, AccessFs::ReadFile | AccessFs::Execute),
        (&files.read, read),
        (&files.write, write),
    ] {
        for path in paths {
            rules = allow(rules, path, access)?;
        }
    }
    rules = allow(
        rules,
        Path::new("/dev/null"),
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
    )?;
    Ok(rules.into())
}

/// A path that is not there is left out: not every system has all of them.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    match PathFd::new(path) {
        Ok(fd) => rules.add_rule(PathBeneath::new(
            fd,
            if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) },
        )),
        Err(_) => Ok(rules),
    }
}

/// In the process itself: lets it read files of its own in /proc, whose paths only now lead to it,
/// and puts the wall up. It only makes system calls.
///
/// # Errors
/// Where the kernel refuses it.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub fn restrict(ruleset: i32, own_files: &[&CStr]) -> std::io::Result<()> {
    /// `struct landlock_path_beneath_attr`
    #[repr(C, packed)]
    struct PathBeneathAttr {
        allowed_access: u64,
        parent_fd: i32,
    }
    const RULE_PATH_BENEATH: i32 = 1;
    const READ_FILE: u64 = 1 << 2;
    for path in own_files {
        // SAFETY: plain system calls on values of our own. The descriptor is closed by exec.
        unsafe {
            let fd = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
            if fd >= 0 {
                let rule = PathBeneathAttr { allowed_access: READ_FILE, parent_fd: fd };
                checked(libc::syscall(
                    libc::SYS_landlock_add_rule,
                    ruleset,
                    RULE_PATH_BENEATH,
                    &raw const rule,
                    0,
                ))?;
            }
        }
    }
    // SAFETY: a plain system call.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })
}
