//! Child process between fork and exec: limits, walls, and the start of the program.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use millrace_walls::limits::{drop_capabilities, hard_limit, limit};
use millrace_walls::readable::READABLE;
use millrace_walls::seccomp::{Pass, Profile};
use millrace_walls::{checked, landlock, seccomp};
use seccompiler::BpfProgram;
use tokio::process::Command;

use super::Sandbox;
use super::private::Private;
use crate::egress;

/// Descriptors that a host may have open.
const FILES_MAX: u64 = 1024;
/// The descriptor of the wire in the host.
const WIRE_FD: i32 = 3;
/// Memory beside the heap: Node itself (80 MiB), buffers, threads. MiB.
pub(crate) const BESIDE_HEAP_MB: u64 = 512;
/// Of the first thread: without a bound the kernel would let it grow beside the limit of data.
/// Bytes.
const STACK_BYTES: u64 = 8 << 20;
/// Numbers of the host itself that Node reads: `process.memoryUsage()` fails without them. Nothing
/// else in /proc is open, for there is the environment of the server.
const OWN_PROC_FILES: [&CStr; 3] = [c"/proc/self/stat", c"/proc/self/statm", c"/proc/self/status"];

/// What the child is given of what the server opened.
pub(super) struct Ends {
    pub(super) wire_fd: i32,
    /// On which the egress guard's listener goes to the server; None: nobody guards.
    pub(super) handover: Option<OwnedFd>,
    /// Where it enters its control group, where there are any.
    pub(super) entry: Option<OwnedFd>,
}

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
    /// Put up after the egress guard's.
    last_filter: Option<BpfProgram>,
    start: Start,
    /// Where it enters its control group.
    entry: Option<OwnedFd>,
    /// The egress guard's filter, and the socket on which its listener goes to the server.
    guarded: Option<(BpfProgram, OwnedFd)>,
}

impl Confinement {
    pub(super) fn prepare(
        command: &Command,
        sandbox: &Sandbox,
        script: &Path,
        private: &Private,
        ends: Ends,
        heap_mb: u32,
    ) -> std::io::Result<Self> {
        let ruleset = match sandbox.walls.landlock_abi {
            Some(_) => Some(above_wire(landlock::ruleset(&files(sandbox, script, private))?)?),
            None => None,
        };
        let Ends { wire_fd, handover, entry } = ends;
        let start = Start::of(command)?;
        let (filters, last_filter) = match sandbox.walls.seccomp {
            true => (seccomp::filters(Profile::Host)?, Some(seccomp::last(Some(start.pass))?)),
            false => (Vec::new(), None),
        };
        Ok(Self {
            wire_fd,
            parent: i32::try_from(std::process::id()).unwrap_or(0),
            // Counts what is private and writable: V8 reserves far more than it uses, so the
            // address space cannot be limited.
            data_bytes_max: (u64::from(heap_mb) + BESIDE_HEAP_MB) << 20,
            file_bytes_max: sandbox.file_bytes_max,
            walled: ruleset.is_some() || !filters.is_empty(),
            ruleset,
            filters,
            last_filter,
            start,
            entry: entry.map(above_wire).transpose()?,
            guarded: match handover {
                Some(handover) => Some((egress::filter(), above_wire(handover)?)),
                None => None,
            },
        })
    }

    /// Walls the child in and starts the program in it; comes back where that fails.
    pub(super) fn start(&mut self) -> std::io::Error {
        match self.apply() {
            Ok(()) => self.start.execute(),
            Err(error) => error,
        }
    }

    /// Only async-signal-safe system calls; no allocation.
    #[expect(unsafe_code, reason = "system calls without a safe wrapper")]
    fn apply(&mut self) -> std::io::Result<()> {
        // SAFETY: plain system calls on values of our own, in the child before exec.
        unsafe {
            if self.wire_fd == WIRE_FD {
                checked(libc::fcntl(WIRE_FD, libc::F_SETFD, 0).into())?;
            } else {
                checked(libc::dup2(self.wire_fd, WIRE_FD).into())?;
            }
            checked(libc::syscall(
                libc::SYS_close_range,
                4u32,
                u32::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            ))?;
            checked(libc::setsid().into())?;
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
            if libc::getppid() != self.parent {
                // The server died before the line above.
                return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
            }
            checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
            libc::umask(0o077);
        }
        if let Some(entry) = &self.entry {
            // SAFETY: the text is a constant: whoever writes it enters.
            checked(
                unsafe { libc::write(entry.as_raw_fd(), c"0".as_ptr().cast(), 1) } as libc::c_long
            )?;
        }
        // RLIMIT_NPROC counts all processes of the user, the server's threads among them: it would
        // let one host starve the others. A host cannot fork (seccomp), and its threads are counted
        // from time to time, and by its control group.
        limit(libc::RLIMIT_CORE, 0)?;
        let handover = match &self.guarded {
            Some((_, handover)) => Some(beyond_reach(handover.as_raw_fd())?),
            None => None,
        };
        limit(libc::RLIMIT_FSIZE, self.file_bytes_max)?;
        limit(libc::RLIMIT_DATA, self.data_bytes_max)?;
        limit(libc::RLIMIT_STACK, STACK_BYTES)?;
        limit(libc::RLIMIT_MEMLOCK, 0)?;
        // Timers and queued signals are counted for all processes of a user together. Ordinary
        // signals need no place.
        limit(libc::RLIMIT_SIGPENDING, 0)?;
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
        if let Some(filter) = &mut self.last_filter {
            seccomp::install(std::slice::from_mut(filter))?;
        }
        // Only now: the server's descriptors, however many clients it has, are there until exec,
        // and what is opened above gets a number beyond theirs.
        limit(libc::RLIMIT_NOFILE, files_max()?)?;
        Ok(())
    }
}

/// The start of the program, as its command says: made here and not by the standard library, which
/// has no pass to show.
struct Start {
    program: CString,
    args: Vec<CString>,
    env: Vec<CString>,
    pass: Pass,
}

impl Start {
    /// Arguments or variables, and the end of their list: in the child, lists have their room on
    /// the stack.
    const ROOM: usize = 16;

    fn of(command: &Command) -> std::io::Result<Self> {
        let command = command.as_std();
        let text = |part: &OsStr| Ok::<_, std::io::Error>(CString::new(part.as_bytes())?);
        let program = text(command.get_program())?;
        let args: Vec<_> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(text)
            .collect::<Result<_, _>>()?;
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some([name.as_bytes(), b"=", value?.as_bytes()].concat()));
        let env: Vec<_> = set
            .map(|variable| Ok::<_, std::io::Error>(CString::new(variable)?))
            .collect::<Result<_, _>>()?;
        if args.len().max(env.len()) >= Self::ROOM {
            return Err(std::io::Error::other(format!(
                "a host is started with fewer than {} arguments and variables",
                Self::ROOM
            )));
        }
        Ok(Self { program, args, env, pass: Pass::new()? })
    }

    /// Comes back where it fails.
    fn execute(&self) -> std::io::Error {
        let list = |texts: &[CString]| {
            let mut list = [std::ptr::null(); Self::ROOM];
            for (place, text) in list.iter_mut().zip(texts) {
                *place = text.as_ptr();
            }
            list
        };
        self.pass.execute(&self.program, &list(&self.args), &list(&self.env))
    }
}

/// What a host reaches.
fn files(sandbox: &Sandbox, script: &Path, private: &Private) -> landlock::Files {
    let node = &sandbox.node;
    let own = [script, private.code()]
        .into_iter()
        .map(Path::to_owned)
        .chain(sandbox.thread_script.clone())
        .chain(sandbox.first_module.clone());
    landlock::Files {
        execute: node.executable.clone(),
        read: READABLE
            .iter()
            .map(PathBuf::from)
            .chain(node.libraries.iter().cloned())
            .chain(own)
            .collect(),
        write: vec![private.tmp().to_owned()],
        // The egress guard decides.
        connects: true,
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
        checked(copy.into())?;
        Ok(OwnedFd::from_raw_fd(copy))
    }
}

/// One below what there is at least: room is needed for a number that the host cannot have.
fn files_max() -> std::io::Result<u64> {
    Ok(FILES_MAX.min(hard_limit(libc::RLIMIT_NOFILE)?.saturating_sub(1)))
}

/// A copy of a descriptor whose number is beyond the host's limit: once closed, the host can never
/// have it again, so the egress guard's filter can let pass what is sent on it.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
fn beyond_reach(fd: i32) -> std::io::Result<i32> {
    let hard = hard_limit(libc::RLIMIT_NOFILE)?;
    let least = i32::try_from(files_max()?).unwrap_or(i32::MAX);
    // SAFETY: plain system calls; the copy is closed by exec.
    unsafe {
        checked(
            libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: hard, rlim_max: hard })
                .into(),
        )?;
        let copy = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least);
        checked(copy.into())?;
        Ok(copy)
    }
}
