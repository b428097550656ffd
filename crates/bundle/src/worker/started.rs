//! Bundling process as the server sees it, from its start to its end.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use millrace_walls::cgroup::HostGroup;
use millrace_walls::limits::is_out_of_cpu_time;
use rustix::io::Errno;
use tokio::io::{AsyncReadExt as _, BufReader, Take};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::WorkerCommand;
use super::wire::{Order, Role, failed, line};
use crate::{BundleError, BundlerConfig};

/// The most that a process may say: a bundle of 32 MiB, as JSON and with its source map, fits in.
const SAID_BYTES_MAX: u64 = 256 << 20;
/// Bytes of standard error that are kept to tell why it ended.
const WORDS_KEPT: usize = 4 << 10;
/// How long the last words of a process that ended may take to arrive.
const WORDS_TIMEOUT: Duration = Duration::from_secs(1);
/// Threads that a process may have, in a control group.
const THREADS_MAX: usize = 512;
/// What a process that fetches needs of the environment, and one that reads strangers' code does
/// not get: by whom the network is reached, and whom it trusts.
const OF_THE_NETWORK: [&str; 10] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

pub(super) type Output = BufReader<Take<ChildStdout>>;

/// A process that was started. It is ended when dropped.
pub(super) struct Started {
    child: Child,
    pub(super) pid: u32,
    pub(super) input: Option<ChildStdin>,
    /// None once somebody else hears it.
    pub(super) output: Option<Output>,
    /// The first line that it is to get.
    pub(super) order: Vec<u8>,
    words: JoinHandle<String>,
    group: Option<HostGroup>,
}

/// How a process ended that was not ended by the server.
#[derive(Debug)]
pub(super) struct Ended {
    status: Option<ExitStatus>,
    words: String,
    pub(super) is_out_of_memory: bool,
}

impl Ended {
    /// Whether it had used the CPU time that it may use.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.status.is_some_and(is_out_of_cpu_time)
    }
}

impl Started {
    pub(super) fn start(
        command: &WorkerCommand,
        config: &BundlerConfig,
        role: Role,
    ) -> Result<Self, BundleError> {
        let memory_bytes = config.limits.memory_mb << 20;
        let order = Order {
            role,
            landlock: config.walls.landlock_abi.is_some(),
            seccomp: config.walls.seccomp,
            cache_dir: config.cache_dir.clone(),
            memory_bytes,
            cpu_seconds: config.limits.cpu_time.as_secs().max(1),
        };
        let mut starting = Command::new(&command.program);
        starting
            .args(&command.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_clear()
            .kill_on_drop(true);
        if role == Role::Fetches {
            starting.envs(
                OF_THE_NETWORK.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))),
            );
        }
        let mut child = starting.spawn().map_err(not_started)?;
        let pipes = (child.id(), child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(pid), Some(input), Some(output), Some(words)) = pipes else {
            return Err(failed("could not start the bundler", "it has no pipes"));
        };
        millrace_walls::oom::prefer(pid);
        let group = match &config.groups {
            Some(groups) => {
                // It walls itself in once it is told to, which is later.
                let (group, _) = groups.host(memory_bytes, THREADS_MAX).map_err(not_started)?;
                group.enter(pid).map_err(not_started)?;
                Some(group)
            }
            None => None,
        };
        let output = BufReader::new(output.take(SAID_BYTES_MAX));
        Ok(Self {
            child,
            pid,
            input: Some(input),
            output: Some(output),
            order: line(&order)?,
            words: tokio::spawn(last_words(words)),
            group,
        })
    }

    /// Ends it.
    pub(super) async fn end(mut self) {
        // It may have ended by itself meanwhile.
        let _ = self.child.kill().await;
    }

    /// It said its last: waits for its end, and tells how it was.
    pub(super) async fn ended(mut self) -> Ended {
        drop(self.input.take());
        let status =
            tokio::time::timeout(WORDS_TIMEOUT, self.child.wait()).await.ok().and_then(Result::ok);
        let _ = self.child.kill().await;
        let words = tokio::time::timeout(WORDS_TIMEOUT, self.words)
            .await
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        // Whoever is refused memory says so; the kernel, which takes a whole group's, says it
        // elsewhere.
        let is_refused = ["memory allocation of", "out of memory", "Cannot allocate memory"]
            .iter()
            .any(|said| words.contains(said));
        let is_out_of_memory =
            is_refused || self.group.as_ref().is_some_and(HostGroup::was_out_of_memory);
        Ended { status, words, is_out_of_memory }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) if status.signal().is_some() || self.words.trim().is_empty() => {
                write!(f, "{status}")
            }
            Some(status) => {
                write!(f, "{status}: {}", self.words.trim().lines().last().unwrap_or_default())
            }
            None => f.write_str("it closed its output and went on"),
        }
    }
}

/// Why it is not there. What the machine lacks at the moment is no fault of ours.
fn not_started(error: std::io::Error) -> BundleError {
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOMEM) => {
            BundleError::NoProcess { source: error }
        }
        _ => failed("could not start the bundler", error),
    }
}

/// The end of standard error.
async fn last_words(mut from: ChildStderr) -> String {
    let (mut kept, mut part) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = from.read(&mut part).await {
        kept.extend_from_slice(&part[..read]);
        if kept.len() > WORDS_KEPT {
            kept.drain(..kept.len() - WORDS_KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_at_the_moment_is_told_from_what_is_ours() {
        let code = |error: Errno| not_started(error.into()).code();
        for lacks in [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM] {
            assert_eq!(code(lacks), "no_process", "{lacks}");
        }
        assert_eq!([Errno::NOENT, Errno::ACCESS].map(code), ["internal"; 2]);
    }
}
