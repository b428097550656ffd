//! Supervisor of a host's process: loads its isolate, reads its frames, holds it to its limits and
//! reaps it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use millrace_walls::taken::Taken;
use millrace_walls::watches;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, ChildStderr};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::cpu::{self, CpuAccounting, HostMeter, sleeps};
use crate::host::exit;
use crate::host::{DrainReason, ExitReason, Host, HostEvent, HostState, PROTOCOL, Phase};
use crate::outgoing::{self, Outgoing};
use crate::runner::in_time;
use crate::sandbox::{BESIDE_HEAP_MB, HostGroup, Private, THREADS_MAX, Usage, WATCHES_MAX, admit};
use crate::types::IsolateSpec;
use crate::wire::{self, WireError};

/// Bytes of standard error that are kept to tell a cause of an exit.
const STDERR_KEPT: usize = 16 << 10;
/// How long a host that does nothing may leave a frame unfinished: two looks at it on end.
const BROKEN_OFF_AFTER: Duration = Duration::from_secs(5);
/// Bytes of a frame between two looks from which on the frame is on its way.
const COMES_ON: usize = 4 << 10;
/// CPU time between two looks from which on a host counts as busy.
const BUSY: Duration = Duration::from_millis(100);
/// How long a process whose wire ended may take to exit, and its last words to arrive.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often it is looked how many threads and watches of epoll a host has, and how much memory.
const LOOK: Duration = Duration::from_millis(500);
/// How long a process may be without its first thread until it counts as one that hides what it
/// takes, and not as one that ends.
const HEADLESS_MAX: Duration = Duration::from_secs(3);
/// Memory beyond the limit of a process that is looked over: what is closed to writing by right, as
/// the linker does. MiB.
const MARGIN_MB: u64 = 64;
/// How often it is looked what it keeps in its temporary folder.
const LOOK_AT_FILES: Duration = Duration::from_secs(2);

/// Takes what a supervisor reports of its host.
pub(crate) type OnEvent = Box<dyn Fn(&Arc<Host>, HostEvent) + Send + Sync>;

/// A host's process and what belongs to it.
pub(crate) struct Supervisor {
    pub(crate) host: Arc<Host>,
    pub(crate) child: Child,
    pub(crate) private: Private,
    pub(crate) group: Option<HostGroup>,
    pub(crate) heap_mb: u32,
    pub(crate) frame_bytes_max: usize,
    pub(crate) tmp_bytes_max: u64,
    pub(crate) load_timeout: Duration,
    pub(crate) late_cpu_max: Duration,
    pub(crate) accounting: Arc<CpuAccounting>,
    pub(crate) on_event: OnEvent,
}

impl Supervisor {
    /// Loads the isolate, reads frames until the process ends or is to be ended, and ends what is
    /// under way.
    pub(crate) async fn supervise(
        mut self,
        wire: UnixStream,
        queue: mpsc::Receiver<Outgoing>,
        killed: oneshot::Receiver<ExitReason>,
    ) {
        let words = tokio::spawn(last_words(self.child.stderr.take()));
        let mut has_loaded = false;
        let reason = match load_frame(self.host.spec(), &self.private).await {
            Ok(load) => {
                let (read, write) = wire.into_split();
                tokio::spawn(outgoing::write(write, queue, load));
                let ended = tokio::select! {
                    biased;
                    reason = killed => Some(reason.unwrap_or(ExitReason::Ended)),
                    read = self.read(read) => read.err().map(ExitReason::Violation),
                    reason = self.too_much() => Some(reason),
                    reason = self.loads_too_long() => Some(reason),
                    reason = self.account_for_cpu() => Some(reason),
                };
                // One that drains was loaded, or its failure to load is known, or it was killed.
                has_loaded = self.host.drain(DrainReason::Retired) != HostState::Loading;
                match ended {
                    // One that dies of its memory can lose its first thread seconds before the
                    // rest: its own words tell better.
                    Some(ExitReason::Headless) => self.exited(words).await.or_headless(),
                    Some(reason) => reason,
                    None => self.exited(words).await,
                }
            }
            Err(reason) => reason,
        };
        self.host.drain(DrainReason::Retired);
        end_process(&mut self.child).await;
        tracing::debug!(isolate = self.host.isolate.1, tmp = %self.private.tmp().display(), ?reason, "a host ended");
        let unloaded = (!has_loaded).then(|| reason.failure(None));
        self.host.end_calls(&reason);
        (self.on_event)(&self.host, HostEvent::Ended(unloaded));
        self.private.remove().await;
    }

    /// Ends where its modules do not load in time.
    async fn loads_too_long(&self) -> ExitReason {
        let loaded = self.host.state.past(HostState::Loading);
        if in_time(self.load_timeout, loaded).await.is_none() {
            let failure = exit::not_loaded(self.load_timeout);
            self.host.drain(DrainReason::LoadFailed);
            (self.on_event)(&self.host, HostEvent::LoadFailed(failure));
            return ExitReason::Ended;
        }
        std::future::pending().await
    }

    /// Its wire ended by itself: tells why.
    async fn exited(&mut self, words: tokio::task::JoinHandle<String>) -> ExitReason {
        // What it may have started goes with it.
        kill_group(&self.child);
        // One that closed its wire and lives on is of no use, and was ended by the line above.
        let status =
            tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await.ok().and_then(Result::ok);
        // Should another process hold its standard error open, that is not waited for.
        let words = tokio::time::timeout(EXIT_TIMEOUT, words)
            .await
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        if self.group.as_ref().is_some_and(HostGroup::was_out_of_memory) {
            return ExitReason::ProcessFull { heap_mb: self.heap_mb };
        }
        ExitReason::of(status, &words, self.heap_mb)
    }

    /// Reads frames until the wire ends.
    async fn read(&self, mut read: OwnedReadHalf) -> Result<(), WireError> {
        let mut buffer = BytesMut::with_capacity(64 << 10);
        let mut phase = Phase::Silent;
        let mut begun: Option<Begun> = None;
        loop {
            // Where a frame has begun, its rest is on its way: nobody waits for anything in the
            // middle of one.
            let more = read.read_buf(&mut buffer);
            let came = match &begun {
                Some(begun) => tokio::time::timeout_at(begun.look_at, more).await,
                None => Ok(more.await),
            };
            match (came, &mut begun) {
                (Ok(Ok(0) | Err(_)), _) => return Ok(()),
                (Ok(Ok(bytes)), Some(begun)) => begun.came += bytes,
                (Ok(Ok(_)), None) => {}
                (Err(_), begun) => {
                    // It may be waiting for a CPU, or be busy: its first thread sleeps also
                    // while others collect garbage for it.
                    let used = self.child.id().filter(|pid| sleeps(*pid)).and_then(cpu::used);
                    let before = begun
                        .take()
                        .filter(|begun| begun.came < COMES_ON)
                        .and_then(|begun| begun.idle_at);
                    if before.zip(used).is_some_and(|(before, now)| now < before + BUSY) {
                        return Err(WireError::BrokeOff { seconds: BROKEN_OFF_AFTER.as_secs() });
                    }
                    *begun = Some(Begun { idle_at: used, ..Begun::now() });
                    continue;
                }
            }
            while let Some(frame) = wire::take_frame(&mut buffer, self.frame_bytes_max)? {
                begun = None;
                if let Some(event) = self.host.frame(&frame, &mut phase)? {
                    (self.on_event)(&self.host, event);
                }
            }
            begun = begun.or_else(|| (!buffer.is_empty()).then(Begun::now));
            if buffer.is_empty() && buffer.capacity() < 4 << 10 {
                buffer.reserve(64 << 10);
            }
        }
    }

    /// Throttles the host where it has to be; ends once it has used too much CPU without a call.
    async fn account_for_cpu(&self) -> ExitReason {
        let mut account = self.accounting.of_host(&self.host.organization);
        let Some(mut meter) = self.child.id().map(HostMeter::new) else {
            return std::future::pending().await;
        };
        if account.is_throttled(Instant::now()) && meter.throttle(true) {
            self.give_less(true);
        }
        // To load is work of everybody's.
        self.host.state.past(HostState::Loading).await;
        meter.begin();
        let (mut late, mut was_hog) = (Duration::ZERO, false);
        loop {
            tokio::time::sleep(cpu::INTERVAL).await;
            let Some(sample) = meter.sample(self.host.ended(), self.host.calls()) else { continue };
            late = if sample.has_worked { Duration::ZERO } else { late + sample.time.used };
            let most = self.late_cpu_max;
            if late > most
                && self.host.ends_without_call(&format!("used {most:?} of CPU time after its end"))
            {
                return ExitReason::Ended;
            }
            let is_throttled = account.record(sample.time, sample.has_worked, Instant::now());
            if sample.is_hog {
                was_hog = true;
                self.host.drain(DrainReason::Hog);
                meter.lower_priority();
                self.give_less(true);
            } else if !was_hog && meter.throttle(is_throttled) {
                self.give_less(is_throttled);
            }
        }
    }

    fn give_less(&self, less: bool) {
        if let Some(group) = &self.group {
            group.give_less(less);
        }
    }

    /// Ends once it has or keeps more than it may, or hides what it has. None of these looks waits
    /// for another: a host can make one of them long.
    async fn too_much(&self) -> ExitReason {
        tokio::select! {
            reason = self.has_too_much() => reason,
            reason = self.watches_too_much() => reason,
            reason = self.keeps_too_much() => reason,
        }
    }

    /// Threads and memory: limits of the kernel's there are for the threads of all processes of a
    /// user, and for memory that can be written to: what native code fills and then closes to
    /// writing is not counted.
    async fn has_too_much(&self) -> ExitReason {
        let memory_kib_max = (u64::from(self.heap_mb) + BESIDE_HEAP_MB + MARGIN_MB) << 10;
        let mut headless_since = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(taken) = self.child.id().and_then(Taken::of) else { continue };
            // Of a process that ends, the first thread may be the first to go, and on a busy
            // machine the kernel takes a while to free its memory.
            headless_since = taken.is_headless.then(|| headless_since.unwrap_or_else(Instant::now));
            if headless_since.is_some_and(|since: Instant| since.elapsed() > HEADLESS_MAX) {
                return ExitReason::Headless;
            }
            if taken.threads > THREADS_MAX as u64 {
                return ExitReason::TooManyThreads { max: THREADS_MAX };
            }
            if taken.memory_kib > memory_kib_max {
                return ExitReason::ProcessFull { heap_mb: self.heap_mb };
            }
        }
    }

    /// Watches of epoll: the kernel's limit is for all processes of a user.
    async fn watches_too_much(&self) -> ExitReason {
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(pid) = self.child.id() else { continue };
            match tokio::task::spawn_blocking(move || watches::of(pid, WATCHES_MAX)).await {
                Ok(count) if count <= WATCHES_MAX => {}
                Ok(_) => return ExitReason::TooManyWatches { max: WATCHES_MAX },
                // The runtime ends.
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Files: the kernel's limit is for one.
    async fn keeps_too_much(&self) -> ExitReason {
        loop {
            tokio::time::sleep(LOOK_AT_FILES).await;
            let (tmp, pid) = (self.private.tmp().to_owned(), self.child.id());
            match tokio::task::spawn_blocking(move || Private::usage(&tmp, pid)).await {
                Ok(Usage::Bytes(bytes)) if bytes <= self.tmp_bytes_max => {}
                Ok(Usage::NotNow) => {}
                Ok(Usage::Bytes(_) | Usage::Uncountable) => {
                    return ExitReason::TmpFull { bytes_max: self.tmp_bytes_max };
                }
                // The runtime ends.
                Err(_) => std::future::pending().await,
            }
        }
    }
}

/// A frame of which a part is here.
struct Begun {
    /// When it is looked at next.
    look_at: Instant,
    /// Bytes that came since the last look.
    came: usize,
    /// What its host had used of the CPU at the last look, where the host slept then.
    idle_at: Option<Duration>,
}

impl Begun {
    fn now() -> Self {
        Self { look_at: Instant::now() + BROKEN_OFF_AFTER / 2, came: 0, idle_at: None }
    }
}

/// Ends a process and all of its group, and reaps it.
pub(crate) async fn end_process(child: &mut Child) {
    kill_group(child);
    // It may have exited by itself meanwhile.
    let _ = child.start_kill();
    let _ = child.wait().await;
}

/// A host leads a session, so a group, of its own.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn kill_group(child: &Child) {
    // None once it is reaped: then its number may be another's.
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        // SAFETY: a plain system call on a process of ours that is not reaped.
        unsafe { libc::kill(-id, libc::SIGKILL) };
    }
}

async fn load_frame(spec: &IsolateSpec, private: &Private) -> Result<Bytes, ExitReason> {
    let paths = if spec.modules.iter().any(|module| module.packages.is_some()) {
        let (code, modules) = (private.code().to_owned(), spec.modules.clone());
        // Thousands of links: other tasks go on meanwhile.
        tokio::task::spawn_blocking(move || admit(&code, &modules))
            .await
            .unwrap_or_else(|e| Err(std::io::Error::other(e)))
    } else {
        private.admit(&spec.modules)
    };
    let paths = paths.map_err(|e| ExitReason::not_started(&e))?;
    let modules: Vec<_> = spec
        .modules
        .iter()
        .zip(paths)
        .map(|(m, path)| serde_json::json!({ "name": m.name, "path": path }))
        .collect();
    let frame = serde_json::json!({
        "t": "load", "protocol": PROTOCOL, "modules": modules, "env": spec.env, "tmp": private.tmp(), "one_call": spec.calls_per_isolate == 1,
    });
    Ok(wire::frame(&[&frame.to_string()]))
}

/// The end of standard error.
async fn last_words(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let mut kept = BytesMut::new();
    while let Ok(n) = stderr.read_buf(&mut kept).await {
        if n == 0 {
            break;
        }
        if kept.len() > STDERR_KEPT {
            let _ = kept.split_to(kept.len() - STDERR_KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
