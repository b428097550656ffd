//! Exit reasons of hosts, and the failures that calls get for them, in words for the user.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use crate::sandbox::BESIDE_HEAP_MB;
use crate::types::{CallFailure, FailureKind};
use crate::wire::WireError;

/// Why a host exited.
#[derive(Clone, Debug)]
pub(crate) enum ExitReason {
    /// We ended it: a call ran over its time, several were in it, and the host could not be
    /// reached.
    Blocked,
    /// We ended it: evicted or shutting down.
    Ended,
    /// We ended it: it broke the protocol.
    Violation(WireError),
    /// Its heap was full.
    OutOfMemory { heap_mb: u32 },
    /// The memory of its whole process was: heaps of all its threads, their stacks, buffers.
    ProcessFull { heap_mb: u32 },
    /// We ended it: it kept too much in its temporary folder.
    TmpFull { bytes_max: u64 },
    /// We ended it: it had too many threads.
    TooManyThreads { max: usize },
    /// We ended it: it watched too many descriptors.
    TooManyWatches { max: usize },
    /// We ended it: its first thread ended without the others, and nobody could tell any more what
    /// they take.
    Headless,
    /// It exited or was killed.
    Exited(Option<ExitStatus>, String),
    /// It could not be started.
    NotStarted(String),
    /// The machine had no room for it.
    NoRoom(String),
}

/// Whether a process could not be started for want of what each that ends gives back: descriptors,
/// processes, memory. Not of disk.
pub(crate) fn lacks_room(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE))
}

impl ExitReason {
    /// Why a process could not be started, or not be given what it loads. What the machine lacks at
    /// the moment is no fault of the code.
    pub(crate) fn not_started(error: &std::io::Error) -> Self {
        if lacks_room(error) || matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) {
            return Self::NoRoom(error.to_string());
        }
        Self::NotStarted(error.to_string())
    }

    /// Reads the cause off the exit status and the last words on standard error.
    pub(crate) fn of(status: Option<ExitStatus>, stderr: &str, heap_mb: u32) -> Self {
        let signal = status.and_then(|s| s.signal());
        // Out of memory, one thread aborts while another faults.
        let fault = signal.is_some_and(|s| {
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGILL].contains(&s)
        });
        let aborted =
            fault || signal == Some(libc::SIGABRT) || status.is_some_and(|s| s.code() == Some(134));
        let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
        if aborted && says(&["heap limit"]) {
            return Self::OutOfMemory { heap_mb };
        }
        // V8 tells of its last collections only where memory ended, and may fault before it says
        // so.
        if aborted
            && says(&[
                "out of memory",
                "bad_alloc",
                " OOM ",
                "terminate called",
                "<--- Last few GCs",
            ])
        {
            return Self::ProcessFull { heap_mb };
        }
        let mut words = last_line(stderr);
        if words.is_empty() && fault {
            // Memory that is refused to Node itself, not to the code, ends in a fault.
            words = format!("most often {}", process_full(heap_mb));
        }
        Self::Exited(status, words)
    }

    /// What ended a process without its first thread: itself, or we did.
    pub(crate) fn or_headless(self) -> Self {
        match self {
            Self::Exited(status, _) if status.is_none_or(|s| s.signal() == Some(libc::SIGKILL)) => {
                Self::Headless
            }
            told => told,
        }
    }

    /// What it means for a call that was in the process with others, `calls` in all. Whose fault it
    /// was nobody can tell: none of them is failed for it.
    pub(crate) fn failure_among(&self, calls: usize, namespace: Option<String>) -> CallFailure {
        let failure = self.failure(namespace);
        if calls <= 1 || failure.kind == FailureKind::HostLost {
            return failure;
        }
        let message = format!(
            "{calls} runs were in one process, and it is not known which of them ended it: {}",
            failure.message
        );
        CallFailure {
            kind: FailureKind::HostLost,
            stack: format!("{}: {message}", failure.code),
            message,
            ..failure
        }
    }

    /// What it means for a call that had the process to itself.
    pub(crate) fn failure(&self, namespace: Option<String>) -> CallFailure {
        let (kind, code, message) = match self {
            Self::Blocked => {
                (FailureKind::HostLost, "InternalFailure", "the process was ended because a run in it blocked it beyond its time limit; it is not known which".to_owned())
            }
            Self::Ended => (FailureKind::HostLost, "InternalFailure", "the process was ended before the run was over".to_owned()),
            Self::Violation(error) => (FailureKind::ProtocolViolation, "InternalFailure", format!("the process was ended because it sent {error}")),
            Self::OutOfMemory { heap_mb } => (
                FailureKind::OutOfMemory,
                "OutOfMemory",
                format!(
                    "the code needed more memory than its limit of {heap_mb} MiB; raise `settings.memory_mb` (of a workflow; sources have no such setting), or hold less in memory"
                ),
            ),
            Self::ProcessFull { heap_mb } => (FailureKind::OutOfMemory, "OutOfMemory", process_full(*heap_mb)),
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
            Self::TooManyWatches { max } => (
                FailureKind::OutOfMemory,
                "OutOfMemory",
                format!("the code waited for descriptors in more than {max} places at once (watches of epoll), the limit; close what is no longer needed"),
            ),
            Self::Headless => (
                FailureKind::HostCrashed,
                "InternalFailure",
                "the process of the code was ended because its main thread ended without the others, which hides what they take; keep that thread, or end the whole process".to_owned(),
            ),
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
            Self::NoRoom(why) => (FailureKind::NoRoom, "InternalFailure", format!("a process for the code could not be started: {why}")),
        };
        CallFailure {
            kind,
            code: code.into(),
            stack: format!("{code}: {message}"),
            message,
            namespace,
        }
    }
}

/// Which limit it was, and what to do.
fn process_full(heap_mb: u32) -> String {
    format!(
        "the process of the code needed more memory than its limit of {} MiB ({heap_mb} MiB of heap, and {BESIDE_HEAP_MB} MiB for worker threads, buffers and \
         output not yet sent); use fewer workers, hold less in memory, or raise `settings.memory_mb` (of a workflow; sources have no such setting)",
        u64::from(heap_mb) + BESIDE_HEAP_MB
    )
}

/// A call ran over its time.
pub(crate) fn timed_out(limit: Duration, namespace: Option<String>) -> CallFailure {
    let message = format!("the code did not end within its limit of {} ms", limit.as_millis());
    CallFailure {
        kind: FailureKind::Timeout,
        code: "Timeout".into(),
        stack: format!("Timeout: {message}"),
        message,
        namespace,
    }
}

/// Code of a call that was stopped. Errors of components are of the kind `Thrown`, whatever their
/// code.
const STOPPED: &str = "Stopped";

/// Somebody stopped the call.
pub(crate) fn stopped(namespace: Option<String>) -> CallFailure {
    let message = "the run was stopped before its code ended".to_owned();
    CallFailure {
        kind: FailureKind::HostLost,
        code: STOPPED.into(),
        stack: format!("{STOPPED}: {message}"),
        message,
        namespace,
    }
}

impl CallFailure {
    /// Whether somebody stopped the call.
    pub fn is_stopped(&self) -> bool {
        self.kind == FailureKind::HostLost && self.code == STOPPED
    }
}

/// A module's top level did not end.
pub(crate) fn not_loaded(limit: Duration) -> CallFailure {
    let message = format!(
        "the code was not loaded within {} s; its top level must not wait or loop",
        limit.as_secs()
    );
    CallFailure {
        kind: FailureKind::LoadFailed,
        code: "Timeout".into(),
        stack: format!("Timeout: {message}"),
        message,
        namespace: None,
    }
}

/// No room to wait.
pub(crate) fn overloaded() -> CallFailure {
    let message = "too many runs wait for a process".to_owned();
    CallFailure {
        kind: FailureKind::Overloaded,
        code: "InternalFailure".into(),
        stack: format!("InternalFailure: {message}"),
        message,
        namespace: None,
    }
}

/// What it said last, before the traces that Node and V8 add and without their ornaments.
fn last_line(text: &str) -> String {
    let said = text
        .lines()
        .take_while(|line| !line.starts_with("----- "))
        .map(|line| line.trim().trim_start_matches(['#', ' ']));
    said.filter(|line| !line.is_empty() && !line.starts_with("<---"))
        .last()
        .unwrap_or("")
        .chars()
        .take(300)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Node 22 says when memory ends, and how it ends then.
    #[test]
    fn the_limit_that_was_met_is_named() {
        let heap = "[1:0x1] 273 ms: Mark-Compact 63.8 allocation failure\n\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n 1: x [node]\n";
        let semi = "<--- JS stacktrace --->\n\nFATAL ERROR: Committing semi space failed. Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n 1: x\n";
        let chunk = "#\n# Fatal javascript OOM in MemoryChunk allocation failed during deserialization.\n#\n";
        for (signal, said, limit, is_sure) in [
            (6, heap, "limit of 64 MiB", true),
            (6, semi, "limit of 576 MiB", true),
            (5, chunk, "limit of 576 MiB", true),
            (11, semi, "limit of 576 MiB", true),
            (11, "terminate called after throwing an instance of '", "limit of 576 MiB", true),
            (
                11,
                "\n<--- Last few GCs --->\n\n[1:0x1] 647 ms: Scavenge 3.4 (3.5) -> 3.0 (4.5) MB, allocation failure;\n",
                "limit of 576 MiB",
                true,
            ),
            (11, "", "limit of 576 MiB", false),
            (5, "#\n#\n", "limit of 576 MiB", false),
        ] {
            let failure =
                ExitReason::of(Some(ExitStatus::from_raw(signal)), said, 64).failure(None);
            assert!(
                failure.message.contains(limit) && failure.message.contains("memory_mb"),
                "{said:?}: {}",
                failure.message
            );
            assert_eq!(
                failure.kind == FailureKind::OutOfMemory,
                is_sure,
                "{said:?}: {}",
                failure.message
            );
        }
    }

    #[test]
    fn a_process_without_its_first_thread_is_told_by_its_own_end_where_it_has_one() {
        let told = |signal, said: &str| {
            let exit = ExitReason::of(Some(ExitStatus::from_raw(signal)), said, 64);
            exit.or_headless().failure(None).code
        };
        assert_eq!(told(6, "JavaScript heap out of memory, heap limit"), "OutOfMemory");
        assert_eq!(told(11, "terminate called after throwing"), "OutOfMemory");
        let headless = ExitReason::of(Some(ExitStatus::from_raw(9)), "", 64).or_headless();
        assert!(headless.failure(None).message.contains("main thread ended"));
        let lost = ExitReason::of(None, "", 64).or_headless();
        assert!(lost.failure(None).message.contains("main thread ended"));
    }

    #[test]
    fn another_end_is_told_by_what_was_said_before_it() {
        let message = |signal, said: &str| {
            ExitReason::of(Some(ExitStatus::from_raw(signal)), said, 64).failure(None).message
        };
        assert_eq!(
            message(6, "\n----- Native stack trace -----\n\n 1: 0xb7 node::Abort() [node]\n"),
            "the process of the code was killed by signal 6"
        );
        assert_eq!(
            message(5, "#\n# Fatal JavaScript invalid size error 16777217\n#\n"),
            "the process of the code was killed by signal 5: Fatal JavaScript invalid size error 16777217"
        );
        assert_eq!(message(9, ""), "the process of the code was killed by signal 9");
    }
}
