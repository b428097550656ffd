//! Why a host died, in words for the user.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use crate::sandbox::BESIDE_HEAP_MB;
use crate::types::{CallFailure, FailureKind};
use crate::wire::WireError;

/// Why a host is no more.
#[derive(Clone, Debug)]
pub(crate) enum Death {
    /// We ended it: a call ran over its time, and the host could not be reached.
    Blocked,
    /// We ended it: evicted or shutting down.
    Ended,
    /// We ended it: it broke the protocol.
    Violation(WireError),
    /// Its heap was full.
    OutOfMemory { heap_mb: u32 },
    /// We ended it: it kept too much in its temporary folder.
    TmpFull { bytes_max: u64 },
    /// We ended it: it had too many threads.
    TooManyThreads { max: usize },
    /// It exited or was killed.
    Exited(Option<ExitStatus>, String),
    /// It could not be started.
    NotStarted(String),
}

impl Death {
    /// Reads the cause off the exit status and the last words on standard error.
    pub(crate) fn of(status: Option<ExitStatus>, stderr: &str, heap_mb: u32) -> Self {
        let aborted = status.is_some_and(|s| s.signal() == Some(libc::SIGABRT) || s.signal() == Some(libc::SIGTRAP) || s.code() == Some(134));
        if aborted && (["heap limit", "out of memory", "bad_alloc"].iter().any(|w| stderr.contains(w))) {
            return Self::OutOfMemory { heap_mb };
        }
        let mut words = last_line(stderr);
        let fault = status.and_then(|s| s.signal()).is_some_and(|s| [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGILL].contains(&s));
        if fault && words.is_empty() {
            // Memory that is refused to Node itself, not to the code, ends in a fault.
            words = format!("most often it needed more memory beside the heap (buffers, output not yet sent) than its limit of {BESIDE_HEAP_MB} MiB");
        }
        Self::Exited(status, words)
    }

    /// What it means for a call that was under way.
    pub(crate) fn failure(&self, namespace: Option<String>) -> CallFailure {
        let (kind, code, message) = match self {
            Self::Blocked => {
                (FailureKind::HostLost, "InternalFailure", "the process was ended because another run in it blocked it beyond its time limit".to_owned())
            }
            Self::Ended => (FailureKind::HostLost, "InternalFailure", "the process was ended before the run was over".to_owned()),
            Self::Violation(error) => (FailureKind::ProtocolViolation, "InternalFailure", format!("the process was ended because it sent {error}")),
            Self::OutOfMemory { heap_mb } => (
                FailureKind::OutOfMemory,
                "OutOfMemory",
                format!("the code needed more memory than its limit of {heap_mb} MiB; raise `settings.memory_mb` of the workflow, or hold less in memory"),
            ),
            Self::TmpFull { bytes_max } => (
                FailureKind::PayloadTooLarge,
                "PayloadTooLarge",
                format!(
                    "the code keeps more in /tmp than its limit of {} MiB, or more files than can be counted; remove what is no longer needed",
                    bytes_max >> 20
                ),
            ),
            Self::TooManyThreads { max } => {
                (FailureKind::OutOfMemory, "OutOfMemory", format!("the code ran more than {max} threads at once, the limit; use fewer workers"))
            }
            Self::Exited(status, words) => {
                let how = match status {
                    Some(status) => status
                        .signal()
                        .map_or_else(|| format!("exited with code {}", status.code().unwrap_or(-1)), |signal| format!("was killed by signal {signal}")),
                    None => "was lost".to_owned(),
                };
                let words = if words.is_empty() { String::new() } else { format!(": {words}") };
                (FailureKind::HostCrashed, "InternalFailure", format!("the process of the code {how}{words}"))
            }
            Self::NotStarted(why) => (FailureKind::HostCrashed, "InternalFailure", format!("a process for the code could not be started: {why}")),
        };
        CallFailure { kind, code: code.into(), stack: format!("{code}: {message}"), message, namespace }
    }
}

/// A call ran over its time.
pub(crate) fn timed_out(limit: Duration, namespace: Option<String>) -> CallFailure {
    let message = format!("the code did not end within its limit of {} ms", limit.as_millis());
    CallFailure { kind: FailureKind::Timeout, code: "Timeout".into(), stack: format!("Timeout: {message}"), message, namespace }
}

/// A module's top level did not end.
pub(crate) fn not_loaded(limit: Duration) -> CallFailure {
    let message = format!("the code was not loaded within {} s; its top level must not wait or loop", limit.as_secs());
    CallFailure { kind: FailureKind::LoadFailed, code: "Timeout".into(), stack: format!("Timeout: {message}"), message, namespace: None }
}

/// No room to wait.
pub(crate) fn overloaded() -> CallFailure {
    let message = "too many runs wait for a process".to_owned();
    CallFailure { kind: FailureKind::Overloaded, code: "InternalFailure".into(), stack: format!("InternalFailure: {message}"), message, namespace: None }
}

fn last_line(text: &str) -> String {
    text.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or("").chars().take(300).collect()
}
