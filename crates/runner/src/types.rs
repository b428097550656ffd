//! Requests to the runner, and its answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use millrace_model::component::Beside;
use millrace_model::egress::{Refusal, Shared};
use millrace_model::pause::PauseKind;
use millrace_model::run::LogLevel;
use serde_json::value::RawValue;

use crate::ask::Ask;
use crate::host_pool::PATIENCE_FIRST;
use crate::sandbox::Walls;

/// Bounds and places of a runner.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// The Node binary, or a name on the PATH.
    pub node: PathBuf,
    /// The runtime that runs inside hosts, as text.
    pub host_script: String,
    /// What Node loads first in each thread of a host, as text of a CommonJS module.
    pub thread_script: String,
    /// Where the runtime and hosts' private temporary folders are kept.
    pub scratch_dir: PathBuf,
    /// Hosts that wait, started, for an artifact.
    pub blank_hosts: usize,
    /// Hosts at once, blank ones not counted.
    pub hosts_max: usize,
    /// The longest time that the code may take to load.
    pub load_timeout: Duration,
    /// An isolate unused for so long is ended.
    pub idle_evict: Duration,
    /// A host of an isolate that has others is ended once it was idle for so long.
    pub surplus_idle: Duration,
    /// How long what a call left running may keep its host from the next call; then the host is
    /// ended. The runtime lets the next call begin after a second, so only code that blocks the
    /// event loop meets it.
    pub left_running_max: Duration,
    /// How long a call that a busy host is given ahead may be expected to wait there. None is given
    /// ahead where that is nothing.
    pub ahead_wait: Duration,
    /// CPU time that a host may use after its last call; then it is ended.
    pub late_cpu_max: Duration,
    /// Heap of a host that asks for no other, MiB.
    pub heap_mb_default: u32,
    /// A longer frame ends its host.
    pub frame_bytes_max: usize,
    /// Log text kept of a call; then one mark.
    pub log_bytes_max: usize,
    /// Results, exports, emits and responses of a call in all.
    pub result_bytes_max: usize,
    /// Calls that wait for a host, or are ahead in one.
    pub waiting_max: usize,
    /// What a host may keep in its temporary folder, bytes.
    pub tmp_bytes_max: u64,
    /// Whether the kernel's walls must stand.
    pub walls: Walls,
    /// Which addresses hosts may reach; looked at anew for each connection.
    pub egress: Shared,
}

impl Default for RunnerConfig {
    fn default() -> Self {
        Self {
            node: "node".into(),
            host_script: String::new(),
            thread_script: String::new(),
            scratch_dir: std::env::temp_dir().join("millrace"),
            blank_hosts: 2,
            hosts_max: 32,
            load_timeout: Duration::from_secs(30),
            idle_evict: Duration::from_secs(300),
            surplus_idle: Duration::from_secs(10),
            left_running_max: Duration::from_secs(5),
            // Until another host would be started for it.
            ahead_wait: PATIENCE_FIRST,
            late_cpu_max: Duration::from_secs(5),
            heap_mb_default: 256,
            frame_bytes_max: 16 << 20,
            log_bytes_max: 256 << 10,
            result_bytes_max: 6 << 20,
            waiting_max: 10_000,
            tmp_bytes_max: 2 << 30,
            walls: Walls::default(),
            egress: Shared::default(),
        }
    }
}

/// Why a runner cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Node is not there.
    #[error(
        "Node.js was not found as `{node}`; install Node.js 20 or newer, or name its binary with --node"
    )]
    NodeMissing {
        /// What was looked for.
        node: String,
    },
    /// What is there is no Node, or one that cannot run: it lacks memory, threads or libraries.
    #[error(
        "`{node} --version` did not print the version of Node.js: {said}; check limits of memory and processes, or name another binary with --node"
    )]
    NodeFailed {
        /// The binary.
        node: String,
        /// How it ended, and its last words.
        said: String,
    },
    /// Node is too old.
    #[error(
        "`{node}` is Node.js {found}; Millrace needs 20 or newer, name another binary with --node"
    )]
    NodeTooOld {
        /// The binary.
        node: String,
        /// Its version.
        found: String,
    },
    /// A folder or file could not be written.
    #[error("could not prepare the folder `{path}` for hosts{}", Shortage::of(source).map_or_else(String::new, |shortage| format!(" ({shortage})")))]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The kernel lacks a wall.
    #[error(
        "this machine has no {missing}, so what runs here could not be kept in; start with --sandbox=best-effort to do without, where every component is trusted"
    )]
    WallMissing {
        /// Which.
        missing: String,
    },
    /// The walls could not be tried: what they need is used up.
    #[error("the walls around hosts could not be tried in `{path}`: {why}; {shortage}")]
    TrialLacks {
        /// The folder of hosts.
        path: PathBuf,
        /// What happened.
        why: String,
        /// What is used up.
        shortage: Shortage,
    },
    /// Node does not run within the walls, or they do not hold.
    #[error(
        "a trial of the walls around hosts failed: {why}; start with --sandbox=off to do without them, where every component is trusted"
    )]
    WallsFail {
        /// What happened.
        why: String,
    },
}

/// What is used up, which no wall is to blame for. Shown as what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// Room on the disk, files on it, or a quota.
    #[error(
        "its disk has no room: make some (`df -h`, `df -i`, quotas), or put the data directory on another disk with --data-dir"
    )]
    Room,
    /// Descriptors, of this process or of the machine.
    #[error(
        "too many files are open: raise the limit (`ulimit -n`, or `LimitNOFILE` of a systemd unit)"
    )]
    Files,
    /// Memory or processes.
    #[error(
        "memory or processes are used up: give this server more (`ulimit -u`, or `MemoryMax` and `TasksMax` of a systemd unit)"
    )]
    Memory,
}

impl Shortage {
    /// By the names that Node.js gives these errors.
    const NAMED: [(&str, i32, Self); 6] = [
        ("ENOSPC", libc::ENOSPC, Self::Room),
        ("EDQUOT", libc::EDQUOT, Self::Room),
        ("EMFILE", libc::EMFILE, Self::Files),
        ("ENFILE", libc::ENFILE, Self::Files),
        ("ENOMEM", libc::ENOMEM, Self::Memory),
        ("EAGAIN", libc::EAGAIN, Self::Memory),
    ];

    pub(crate) fn of(error: &std::io::Error) -> Option<Self> {
        // Its number may be hidden in an error that adds a path: the words have it always.
        Self::of_words(&error.to_string()).map(|(_, shortage)| shortage)
    }

    /// Of what a process said as it ended, with the line that says it: as Node.js writes such
    /// errors, and as we do.
    pub fn of_words(words: &str) -> Option<(&str, Self)> {
        let says = |line: &str, name: &str, number: i32| {
            line.contains(&format!("{name}:")) || line.contains(&format!("(os error {number})"))
        };
        words.lines().find_map(|line| {
            Self::NAMED
                .iter()
                .find(|(name, number, _)| says(line, name, *number))
                .map(|(_, _, shortage)| (line.trim(), *shortage))
        })
    }
}

/// A module that an isolate loads.
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// By which calls name it.
    pub name: String,
    /// The file of the ES module.
    pub path: PathBuf,
    /// Packages that lie beside it.
    pub packages: Option<Arc<Packages>>,
}

/// The ending of the folder beside a module's file that holds the author's own files, which a host
/// finds beside the module.
pub const OWN_FILES: &str = "files";

/// Packages beside a module.
#[derive(Debug)]
pub struct Packages {
    /// The folder of the store that they are in.
    pub store: PathBuf,
    /// Which they are.
    pub beside: Beside,
}

/// What an isolate is: what it loads and to whom it belongs.
#[derive(Clone, Debug)]
pub struct IsolateSpec {
    /// Calls with the same id share hosts.
    pub id: String,
    /// The organization; a host never serves two.
    pub organization: String,
    /// The modules.
    pub modules: Vec<ModuleSpec>,
    /// Environment that the code sees.
    pub env: BTreeMap<String, String>,
    /// Heap limit; None: the default.
    pub memory_mb: Option<u32>,
    /// Calls that one host serves at the same time: 1, unless the author of the code said
    /// otherwise.
    pub calls_per_isolate: u32,
    /// Hosts that serve this code at the same time, at most.
    pub isolates_max: u32,
    /// Whether calls must begin in the order in which they came: then the next one is given once
    /// the code of the one before has come to its first `await`, or after 250 ms without one. Else
    /// short ones are given to a busy host ahead, and one may begin before an older one of another.
    pub in_order: bool,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// An object `{kind, …}` as the protocol says.
    pub body: Box<RawValue>,
    /// Wall-clock limit, from when a host has it.
    pub timeout: Duration,
    /// The steps of a workflow's call in order: the first counts as started when a host has it.
    pub steps: Vec<String>,
}

/// What code does while it runs.
#[derive(Debug)]
pub enum Effect {
    /// A line of output.
    Log {
        /// Its level.
        level: LogLevel,
        /// The text.
        text: String,
        /// When, epoch milliseconds, by the host's clock.
        ts_ms: i64,
    },
    /// `this.$emit`.
    Emit {
        /// The data.
        event: Option<Box<RawValue>>,
        /// `{id, name, summary, ts, …}`.
        meta: Option<Box<RawValue>>,
    },
    /// A write to `$.service.db`.
    Db {
        /// The key.
        key: String,
        /// The value; None deletes.
        value: Option<Box<RawValue>>,
    },
    /// An HTTP answer.
    Respond(HttpResponse),
    /// A step began.
    StepStarted {
        /// Its name.
        namespace: String,
    },
    /// The props of the step under way, to be shown.
    StepProps {
        /// Its name.
        namespace: String,
        /// Values by name, an object.
        props: Box<RawValue>,
    },
    /// A step ended well.
    StepFinished {
        /// Its name.
        namespace: String,
        /// Wall time.
        duration_ms: u64,
        /// Its exports, an object.
        exports: Box<RawValue>,
    },
    /// A step failed that had exported something.
    StepFailed {
        /// Its name.
        namespace: String,
        /// What it exported, an object.
        exports: Box<RawValue>,
    },
    /// `$.send.*`.
    Send {
        /// `http`, `email`, …
        kind: String,
        /// What is sent.
        payload: Box<RawValue>,
    },
}

/// An HTTP answer from code.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// 200 to 599.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// Whether it is sent before the run ends.
    pub immediate: bool,
}

/// Takes effects in order; must not block.
pub trait EffectSink: Send + Sync {
    /// One effect.
    fn effect(&self, effect: Effect);

    /// A connection of the host was refused, of this call's or of another's that goes on: each
    /// address once, also as a line of output.
    fn refused(&self, _refusal: &Refusal) {}

    /// Where lines go that come of the call after its end. Kept for a while after it, so that it
    /// holds nothing else of it.
    fn late(&self) -> Option<Arc<dyn LateSink>> {
        None
    }

    /// A question that the code waits for; to be answered in any order, by another task where it
    /// takes time.
    fn ask(&self, ask: Ask) {
        ask.unknown();
    }
}

/// Takes what code writes after its call has ended: output of what it left running, and errors that
/// nobody awaited.
pub trait LateSink: Send + Sync {
    /// One line, at `ts_ms` (epoch milliseconds).
    fn line(&self, level: LogLevel, text: String, ts_ms: i64);
}

/// How a call ended.
#[derive(Debug)]
pub struct CallOutcome {
    /// Its result.
    pub result: Result<CallDone, CallFailure>,
    /// Wall time in the host.
    pub duration: Duration,
}

/// A call that ended well.
#[derive(Debug)]
pub struct CallDone {
    /// What it returned.
    pub result: Box<RawValue>,
    /// The reason of `$.flow.exit`, where it ended so.
    pub exit: Option<String>,
    /// Where the attempt ended with a pause.
    pub paused: Option<CallPaused>,
}

/// A pause that a step asked for.
#[derive(Clone, Debug)]
pub struct CallPaused {
    /// The step.
    pub namespace: String,
    /// Which; never a retry.
    pub kind: PauseKind,
    /// Until it ends by itself, milliseconds from now; at most a year.
    pub ms: i64,
    /// Of a step that runs again: wall time of this run of it, milliseconds.
    pub duration_ms: u64,
    /// Of a step that runs again: `{runs, context}` for its next run.
    pub run: Option<Box<RawValue>>,
    /// Of a step that runs again: what it exported so far.
    pub exports: Option<Box<RawValue>>,
}

/// A call that failed.
#[derive(Clone, Debug)]
pub struct CallFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// The error's class or code.
    pub code: String,
    /// What happened; of a limit: which, and how to raise it.
    pub message: String,
    /// The stack, or the message.
    pub stack: String,
    /// The step that was struck.
    pub namespace: Option<String>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The code threw.
    Thrown,
    /// The modules do not load.
    LoadFailed,
    /// The wall-clock limit.
    Timeout,
    /// The heap limit.
    OutOfMemory,
    /// The limit of results.
    PayloadTooLarge,
    /// The process died.
    HostCrashed,
    /// The process was ended through another call's fault: safe to run again.
    HostLost,
    /// Too many calls wait.
    Overloaded,
    /// The machine had no room, memory, processes or descriptors for a process: nothing was run.
    NoRoom,
    /// The process broke the protocol.
    ProtocolViolation,
}

/// What a runner is doing.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunnerStats {
    /// Hosts with an artifact.
    pub hosts: usize,
    /// Hosts that wait for one.
    pub blank_hosts: usize,
    /// Calls under way.
    pub calls: usize,
    /// Calls that wait for a host.
    pub waiting: usize,
}
