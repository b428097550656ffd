//! Host: a process, its wire, its state and the calls under way in it.

mod calls;
mod ending;
pub(crate) mod exit;
mod frames;
mod state;
mod supervise;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use millrace_model::egress::Refusal;
use millrace_model::{Clock as _, SystemClock};

use crate::ask::AnswerChannel;
use crate::before_egress::{BeforeEgress, Watched};
use crate::call::REFUSALS_KEPT;
use crate::cpu::{CpuAccounting, sleeps};
pub(crate) use crate::host::calls::Ahead;
use crate::host::calls::Calls;
pub(crate) use crate::host::ending::GivenUp;
pub(crate) use crate::host::exit::ExitReason;
pub(crate) use crate::host::frames::Phase;
use crate::host::state::StateCell;
pub(crate) use crate::host::state::{DrainReason, HostState};
use crate::host::supervise::{Supervisor, end_process};
use crate::host_pool::{IsolateKey, QueuedCall, key};
use crate::outgoing::Outgoing;
use crate::sandbox::Launched;
use crate::types::{CallFailure, IsolateSpec, RunnerConfig};
use crate::wire;

/// Frames that wait to be written.
const WRITE_QUEUE: usize = 1024;
/// Calls that a busy host has ahead, at most, and the bytes of the largest of them.
const AHEAD_MAX: usize = 16;
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// How long a call whose code has not come to its first `await` delays those that must begin after
/// it: code that keeps its CPU would delay all others of its source.
const ENTERING_MAX: Duration = Duration::from_millis(250);
/// The version of the protocol.
pub(crate) const PROTOCOL: u32 = 1;

/// A host with an isolate.
pub(crate) struct Host {
    pub(crate) isolate: IsolateKey,
    pub(crate) organization: String,
    spec: Arc<IsolateSpec>,
    answers: AnswerChannel,
    calls: Mutex<Calls>,
    /// Those who wait for the answer to a cancel: it shows that the event loop turns.
    cancels: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    state: StateCell,
    kill: Mutex<Option<oneshot::Sender<ExitReason>>>,
    /// When its last call ended.
    pub(crate) used: Mutex<Instant>,
    /// Its process, while that is not reaped.
    pid: Option<u32>,
    /// When it was assigned.
    since: Instant,
}

/// What a supervisor reports of its host.
pub(crate) enum HostEvent {
    /// It may take a call: it has loaded, or one of its calls is over.
    Freed,
    /// A call is over, and what it started goes on.
    LeftRunning,
    /// The code of a call has begun, in an isolate whose calls begin in order.
    Entered,
    /// It has not begun a call that it had ahead.
    GaveBack(Ahead),
    /// Its modules do not load.
    LoadFailed(CallFailure),
    /// Its process is gone; why it did not load, where it had not.
    Ended(Option<CallFailure>),
}

/// A started process that waits for an isolate.
pub(crate) struct Blank {
    pub(crate) heap_mb: u32,
    /// When it was started.
    pub(crate) since: Instant,
    launched: Launched,
}

impl Blank {
    pub(crate) fn new(launched: Launched, heap_mb: u32) -> Self {
        Self { heap_mb, since: Instant::now(), launched }
    }

    /// Whether its process still lives.
    pub(crate) fn alive(&mut self) -> bool {
        matches!(self.launched.child.try_wait(), Ok(None))
    }

    /// Ends its process.
    pub(crate) async fn end(mut self) {
        end_process(&mut self.launched.child).await;
        self.launched.private.remove().await;
    }

    /// Gives it an isolate. `on_event` is called by its supervisor.
    pub(crate) fn assign(
        self,
        spec: &Arc<IsolateSpec>,
        config: &RunnerConfig,
        supervisors: &TaskTracker,
        accounting: &Arc<CpuAccounting>,
        before_egress: &BeforeEgress,
        on_event: impl Fn(&Arc<Host>, HostEvent) + Send + Sync + 'static,
    ) -> Arc<Host> {
        let (writer, queue) = mpsc::channel::<Outgoing>(WRITE_QUEUE);
        let (kill, killed) = oneshot::channel();
        let host = Arc::new(Host {
            isolate: key(spec),
            organization: spec.organization.clone(),
            spec: spec.clone(),
            answers: AnswerChannel::new(writer),
            calls: Mutex::default(),
            cancels: Mutex::default(),
            state: StateCell::new(),
            kill: Mutex::new(Some(kill)),
            used: Mutex::new(Instant::now()),
            pid: self.launched.child.id(),
            since: Instant::now(),
        });
        let Launched { child, wire, private, told, group } = self.launched;
        if let Some(told) = told {
            // The guard outlives the host by a moment.
            let watch =
                Watched { host: Arc::downgrade(&host), before_egress: before_egress.clone() };
            // It was not set: a blank is assigned once.
            let _ = told.set(Box::new(watch));
        }
        let supervisor = Supervisor {
            host: host.clone(),
            child,
            private,
            group,
            heap_mb: self.heap_mb,
            frame_bytes_max: config.frame_bytes_max,
            tmp_bytes_max: config.tmp_bytes_max,
            load_timeout: config.load_timeout,
            late_cpu_max: config.late_cpu_max,
            accounting: accounting.clone(),
            on_event: Box::new(on_event),
        };
        supervisors.spawn(supervisor.supervise(wire, queue, killed));
        host
    }
}

impl Host {
    /// Begins a call: registers it under an id of its own, and sends its frame. Gives the call back
    /// where the host takes no more.
    pub(crate) fn begin(self: &Arc<Self>, call: QueuedCall) -> Option<QueuedCall> {
        let mut calls = self.calls.lock();
        match self.hand_over(&mut calls, &call) {
            Some(id) => {
                calls.began(self, id, call);
                None
            }
            None => Some(call),
        }
    }

    /// Gives a busy host a call ahead, which it begins when it has ended those before. Gives the
    /// call back where the host takes no more.
    pub(crate) fn begin_next(
        self: &Arc<Self>,
        ticket: u64,
        call: QueuedCall,
    ) -> Option<QueuedCall> {
        let mut calls = self.calls.lock();
        match self.hand_over(&mut calls, &call) {
            Some(id) => {
                calls.ahead.push_back(Ahead { id, ticket, call });
                // What it had may have ended in between.
                if calls.under_way.is_empty() {
                    calls.advance(self);
                }
                None
            }
            None => Some(call),
        }
    }

    /// Sends the frame of a call; its id in this host.
    fn hand_over(&self, calls: &mut Calls, call: &QueuedCall) -> Option<u64> {
        if calls.left_running || self.state() != HostState::Serving {
            return None;
        }
        let id = calls.newest + 1;
        let head = wire::head(
            &format!(r#"{{"t":"call","id":{id},"deadline_ms":{},"#, call.timeout.as_millis()),
            call.fields.len(),
        );
        if self.answers.writer.try_send(Outgoing::new(head, call.fields.clone())).is_err() {
            // It reads nothing, or is gone.
            self.kill(ExitReason::Ended);
            return None;
        }
        calls.newest = id;
        Some(id)
    }

    /// How many calls it has ahead, where it may have one more: its calls are short, and none
    /// awaits anything.
    pub(crate) fn takes_ahead(&self, call: &QueuedCall, wait_max: Duration) -> Option<usize> {
        if self.state() != HostState::Serving || call.fields.len() > AHEAD_BYTES_MAX {
            return None;
        }
        let calls = self.calls.lock();
        let there = calls.ahead.len();
        let waits = calls.mean * u32::try_from(there + 1).unwrap_or(u32::MAX);
        let takes = !calls.under_way.is_empty()
            && !calls.left_running
            && !calls.gave_back
            && there < AHEAD_MAX
            && waits <= wait_max;
        (takes && calls.under_way.values().all(|call| !call.awaits)).then_some(there)
    }

    /// Asks for a call back that it has ahead under this ticket, and that nobody waits for any
    /// more. One that it has begun goes on.
    pub(crate) fn ask_back(&self, ticket: u64) {
        let id = self
            .calls
            .lock()
            .ahead
            .iter()
            .find(|ahead| ahead.ticket == ticket)
            .map(|ahead| ahead.id);
        if let Some(id) = id {
            // One that is gone, or reads nothing, begins nothing either.
            let _ = self
                .answers
                .writer
                .try_send(wire::frame(&[r#"{"t":"back","id":"#, &id.to_string(), "}"]).into());
        }
    }

    /// The calls that it had ahead and begins no more, once it has ended.
    pub(crate) fn take_ahead(&self) -> VecDeque<Ahead> {
        std::mem::take(&mut self.calls.lock().ahead)
    }

    pub(crate) fn ahead(&self) -> usize {
        self.calls.lock().ahead.len()
    }

    pub(crate) const fn spec(&self) -> &Arc<IsolateSpec> {
        &self.spec
    }

    /// Whether it can take one more call now.
    pub(crate) fn is_free(&self, calls_max: u32) -> bool {
        if self.state() != HostState::Serving {
            return false;
        }
        let calls = self.calls.lock();
        !calls.left_running && calls.ahead.is_empty() && calls.under_way.len() < calls_max as usize
    }

    /// Whether it has a call whose code has not come to its first `await`, within `ENTERING_MAX` of
    /// its begin.
    pub(crate) fn is_entering(&self) -> bool {
        let calls = self.calls.lock();
        calls.began.elapsed() < ENTERING_MAX && calls.under_way.values().any(|call| !call.entered)
    }

    /// Whether it has no call, and nobody waits for it to show that it can answer.
    pub(crate) fn is_idle(&self) -> bool {
        let calls = self.calls.lock();
        calls.under_way.is_empty()
            && calls.ahead.is_empty()
            && !calls.left_running
            && self.cancels.lock().is_empty()
    }

    pub(crate) fn state(&self) -> HostState {
        self.state.get()
    }

    /// Takes no more calls; gives the state before.
    pub(crate) fn drain(&self, why: DrainReason) -> HostState {
        self.state.advance(HostState::Draining(why))
    }

    /// Waits until its process is gone.
    pub(crate) async fn exited(&self) {
        self.state.exited().await;
    }

    /// Whether what its last call started goes on.
    pub(crate) fn has_left_running(&self) -> bool {
        self.calls.lock().left_running
    }

    /// Whether one of its calls awaits something, or left something running, and its process waits
    /// for something else than a CPU. How long a call has been under way says nothing of
    /// that: where CPUs are short, all take long.
    pub(crate) fn awaits(&self) -> bool {
        let awaits = {
            let calls = self.calls.lock();
            calls.left_running || calls.under_way.values().any(|call| call.awaits)
        };
        awaits && self.pid.is_some_and(sleeps)
    }

    /// A connection was refused. It is not known which call wanted it: all under way are told, each
    /// once of each address.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        let mut calls = self.calls.lock();
        if calls.under_way.is_empty() && calls.refused.len() < REFUSALS_KEPT {
            calls.refused.insert(*refusal);
        }
        for call in calls.under_way.values_mut() {
            call.refused(refusal);
        }
    }

    /// Ends the process.
    pub(crate) fn kill(&self, reason: ExitReason) {
        self.drain(DrainReason::Retired);
        if let Some(kill) = self.kill.lock().take() {
            // It may be gone already.
            let _ = kill.send(reason);
        }
    }

    /// Takes no more calls, and reports in the log of the last one why what it left running is
    /// ended. False where another one is under way: then the host ends with that.
    pub(crate) fn ends_without_call(&self, why: &str) -> bool {
        let mut calls = self.calls.lock();
        self.drain(DrainReason::Retired);
        if !calls.under_way.is_empty() {
            return false;
        }
        if let Some((_, last)) = calls.ended.back_mut() {
            last.line(
                "warn",
                format!(
                    "what the run left running {why}, the limit, and was ended; await it in the run"
                ),
                SystemClock.now().0,
            );
        }
        true
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.lock().under_way.len()
    }

    /// Since when it has had its place, where it may be replaced: once it has loaded.
    pub(crate) fn replaceable_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.is_open() && state != HostState::Loading).then_some(self.since)
    }

    /// Calls that have ended since it began.
    pub(crate) fn ended(&self) -> u64 {
        let calls = self.calls.lock();
        calls.newest.saturating_sub((calls.under_way.len() + calls.ahead.len()) as u64)
    }
}
