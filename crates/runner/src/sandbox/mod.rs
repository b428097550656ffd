//! Start and confinement of a host process: it inherits what this module gives it, and nothing
//! else.
//!
//! Everything that allocates or may fail is made before the fork (`Confinement`); the child only
//! makes system calls.

mod beside;
mod child;
mod files;
mod kept;
mod private;
mod probe;
mod removed;
#[cfg(test)]
mod tests;
mod trial;

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use millrace_model::egress::Shared;
pub(crate) use millrace_walls::cgroup::{ControlGroups, HostGroup};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

pub(crate) use self::child::BESIDE_HEAP_MB;
pub(crate) use self::files::NodeFiles;
pub(crate) use self::private::{Private, Usage, admit};
pub(crate) use self::probe::check;
pub use self::probe::{WallReport, Walls, probe};
pub(crate) use self::trial::trial;

use self::child::{Confinement, Ends};
use crate::egress::{self, Told};
use crate::node::WebSocketGlobal;
use crate::types::RunnerConfig;

/// Threads that a host may have: Node has a dozen, a worker of a component's some more.
pub(crate) const THREADS_MAX: usize = 512;
/// Watches of epoll that a host may have: Node has one for each descriptor that it waits for, of at
/// most 1,024, and a few for each thread that runs code.
pub(crate) const WATCHES_MAX: usize = 4096;

/// A started process and its ends.
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) wire: UnixStream,
    /// Removed with the host.
    pub(crate) private: Private,
    /// Who is told of refused connections; None: nobody guards.
    pub(crate) told: Option<Told>,
    /// Its control group, where there are any. Removed with the host.
    pub(crate) group: Option<HostGroup>,
}

/// What all hosts of a runner have in common.
pub(crate) struct Sandbox {
    pub(crate) node: NodeFiles,
    /// The walls that are put up.
    pub(crate) walls: WallReport,
    /// What Node loads first in each thread of a host.
    pub(crate) thread_script: Option<PathBuf>,
    /// A module without anything in it, which a host imports while it waits for its code: the first
    /// import makes Node's loader, and costs as much as the rest of loading a small module.
    pub(crate) first_module: Option<PathBuf>,
    pub(crate) scratch_dir: PathBuf,
    /// The largest file that a host may write, bytes.
    pub(crate) file_bytes_max: u64,
    /// Which addresses hosts may reach.
    pub(crate) egress: Shared,
    /// Control groups, where the server was given any.
    pub(crate) groups: Option<Arc<ControlGroups>>,
}

/// Writes what hosts load of ours: their program, what Node loads first in each thread, and
/// [`Sandbox::first_module`].
pub(crate) async fn write_scripts(dir: &Path, config: &RunnerConfig) -> io::Result<[PathBuf; 3]> {
    let paths = ["host.cjs", "worker.cjs", "first.mjs"].map(|name| dir.join(name));
    for (path, text) in paths.iter().zip([&*config.host_script, &config.thread_script, ""]) {
        tokio::fs::write(path, text).await?;
    }
    Ok(paths)
}

impl Sandbox {
    /// Starts a host: environment cleared, descriptors closed but the wire, own session, own
    /// folder, walls.
    ///
    /// # Errors
    /// Where the process or its folder cannot be made, or a wall does not stand.
    pub(crate) fn launch(&self, script: &Path, heap_mb: u32) -> std::io::Result<Launched> {
        self.launch_under(&self.egress, script, heap_mb)
    }

    /// As `launch`, with another policy.
    pub(crate) fn launch_under(
        &self,
        egress: &Shared,
        script: &Path,
        heap_mb: u32,
    ) -> std::io::Result<Launched> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let wire = UnixStream::from_std(ours)?;
        let private = Private::new(&self.scratch_dir)?;
        let theirs = OwnedFd::from(theirs);
        let (listener, handover) = match self.walls.egress {
            true => StdUnixStream::pair()
                .map(|(ours, theirs)| (Some(ours), Some(OwnedFd::from(theirs))))?,
            false => (None, None),
        };
        let (group, entry) = match &self.groups {
            Some(groups) => groups
                .host((u64::from(heap_mb) + BESIDE_HEAP_MB) << 20, THREADS_MAX)
                .map(|(group, entry)| (Some(group), Some(entry)))?,
            None => (None, None),
        };
        let mut command = Command::new(&self.node.binary);
        command
            .arg(format!("--max-old-space-size={heap_mb}"))
            .arg("--no-warnings")
            // Native code could do all that system calls can: it is not let in by the front door.
            // The walls do not rely on it.
            .arg("--no-addons");
        if let WebSocketGlobal::BehindFlag(flag) = WebSocketGlobal::of(&self.node.version) {
            command.arg(flag);
        }
        if let Some(first) = &self.thread_script {
            // Worker threads inherit it.
            command.arg("--require").arg(first);
        }
        command
            .arg(script)
            .env_clear()
            .env("HOME", private.tmp())
            .env("TMPDIR", private.tmp())
            .env("TZ", "UTC")
            .current_dir(private.tmp())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut confinement = Confinement::prepare(
            &command,
            self,
            script,
            &private,
            Ends { wire_fd: theirs.as_raw_fd(), handover, entry },
            heap_mb,
        )?;
        #[expect(unsafe_code, reason = "only pre_exec can shape a child between fork and exec")]
        // SAFETY: the closure only makes async-signal-safe system calls on what was prepared, and
        // allocates nothing.
        unsafe {
            command.pre_exec(move || Err(confinement.start()));
        }
        let child = command.spawn()?;
        drop(theirs);
        if let Some(pid) = child.id() {
            // Before exec it is closed as the server itself is.
            millrace_walls::oom::prefer(pid);
        }
        let told = match (listener, child.id()) {
            // It was sent before exec, which is over. A host without its guard is ended as the
            // child is dropped.
            (Some(listener), Some(pid)) => {
                Some(egress::guard(egress::receive(&listener)?, pid, egress.clone())?)
            }
            _ => None,
        };
        Ok(Launched { child, wire, private, told, group })
    }
}
