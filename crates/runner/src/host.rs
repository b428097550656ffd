//! One host: a process, its wire, and the calls under way in it.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use millrace_model::egress::Refusal;
use millrace_model::{Clock as _, SystemClock};

use crate::ask::Desk;
use crate::call::{After, Ended, EndedCall, REFUSALS_KEPT, UnderWay, thrown};
use crate::death::Death;
use crate::host_pool::{IsolateKey, QueuedCall, key};
use crate::life::{Life, end_process};
use crate::outgoing::Outgoing;
use crate::sandbox::Launched;
use crate::shares::Shares;
use crate::types::{CallFailure, FailureKind, IsolateSpec, RunnerConfig};
use crate::wire::{self, FromHost, WireError};

/// Frames that wait to be written.
const WRITE_QUEUE: usize = 1024;
/// Lines that may come of a call after its end; the runtime sends no more.
const LATE_LINES_MAX: u64 = 100;
/// Calls whose lines after their end are kept: the latest of a host.
const ENDED_KEPT: usize = 64;
/// Calls that a busy host has ahead, at most, and the bytes of the largest of them.
const AHEAD_MAX: usize = 16;
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// How long calls of a host are taken to be that has served none: too long to give it another one
/// ahead.
const UNKNOWN: Duration = Duration::from_millis(10);
/// Calls over which the mean of their times is taken, about.
const MEAN_OVER: u32 = 32;
/// The version of the protocol.
pub(crate) const PROTOCOL: u32 = 1;

/// How far loading is.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    /// It loads.
    Pending,
    Loaded,
    Failed,
}

impl Load {
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Loaded | Self::Failed)
    }
}

/// A host with an isolate.
pub(crate) struct Host {
    pub(crate) isolate: IsolateKey,
    pub(crate) organization: String,
    spec: Arc<IsolateSpec>,
    desk: Desk,
    calls: Mutex<Calls>,
    /// Those who wait for the answer to a cancel: it shows that the event loop turns.
    cancels: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    pub(crate) load: watch::Receiver<Load>,
    kill: Mutex<Option<oneshot::Sender<Death>>>,
    /// Takes no new calls.
    pub(crate) retiring: AtomicBool,
    /// It burned the processor and got less of it for good: it is ended once it has nothing to do.
    pub(crate) slowed: AtomicBool,
    /// It retires because others wait for its room.
    pub(crate) makes_room: AtomicBool,
    /// When its last call ended.
    pub(crate) used: Mutex<Instant>,
    /// Its process, while that is not reaped.
    pid: Option<u32>,
    /// When it was assigned.
    since: Instant,
}

/// The calls that a host was given.
struct Calls {
    under_way: HashMap<u64, UnderWay>,
    /// Calls that it has ahead, the oldest first: it begins one when the one before is done and
    /// left nothing running.
    ahead: VecDeque<Ahead>,
    /// It gave calls back: what is under way takes longer than was thought.
    gave_back: bool,
    /// When the call under way began, where it is the only one.
    began: Instant,
    /// What its calls take, about.
    mean: Duration,
    /// The newest id. Ids count from 1 in each host: one host's ids say nothing about another's.
    newest: u64,
    /// Calls that we gave up and whose frames may still come.
    late: HashSet<u64>,
    /// Lines that came of calls after their end.
    late_lines: u64,
    /// The latest calls that ended, the oldest first, by id.
    ended: VecDeque<(u64, EndedCall)>,
    /// The process is gone, or is being ended.
    dead: bool,
    /// Connections that were refused while it had no call: the log of its next call shows them.
    refused: BTreeSet<Refusal>,
    /// What its last call started goes on: it takes no other one until that has ended.
    left_running: bool,
}

/// A call that a busy host has ahead.
pub(crate) struct Ahead {
    id: u64,
    pub(crate) ticket: u64,
    pub(crate) call: QueuedCall,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            under_way: HashMap::new(),
            ahead: VecDeque::new(),
            gave_back: false,
            began: Instant::now(),
            mean: UNKNOWN,
            newest: 0,
            late: HashSet::new(),
            late_lines: 0,
            ended: VecDeque::new(),
            dead: false,
            refused: BTreeSet::new(),
            left_running: false,
        }
    }
}

/// What a supervisor reports of its host.
pub(crate) enum HostEvent {
    /// It may take a call: it has loaded, or one of its calls is over.
    Freed,
    /// A call is over, and what it started goes on.
    LeftRunning,
    /// It has not begun a call that it had ahead.
    GaveBack(Ahead),
    /// Its modules do not load.
    LoadFailed(CallFailure),
    /// Its process is gone; why it did not load, where it had not.
    Ended(Option<CallFailure>),
}

impl Calls {
    /// A line of a call that is over: of the latest it is handed on, of others dropped.
    /// How many come is counted for all calls, which needs no memory of each.
    fn late_line(
        &mut self,
        id: u64,
        level: &str,
        text: String,
        ts_ms: i64,
    ) -> Result<(), WireError> {
        if id == 0
            || id > self.newest
            || self.under_way.contains_key(&id)
            || self.ahead.iter().any(|ahead| ahead.id == id)
        {
            return Err(WireError::UnknownCall);
        }
        self.late_lines += 1;
        if self.late_lines > self.newest.saturating_mul(LATE_LINES_MAX) {
            return Err(WireError::OutOfOrder("more lines after the end of calls than allowed"));
        }
        if let Some((_, ended)) = self.ended.iter_mut().find(|(ended, _)| *ended == id) {
            ended.line(level, text, ts_ms);
        }
        Ok(())
    }

    /// Ends a call whose last frame came.
    fn finish(&mut self, id: u64, ended: Ended) {
        let Some(call) = self.under_way.remove(&id) else { return };
        if let Some(late) = call.late() {
            if self.ended.len() >= ENDED_KEPT {
                self.ended.pop_front();
            }
            self.ended.push_back((id, late));
        }
        call.end(ended);
        self.gave_back = false;
        self.mean = (self.mean * (MEAN_OVER - 1) + self.began.elapsed()) / MEAN_OVER;
    }

    /// The oldest call that the host has ahead is under way.
    fn advance(&mut self, host: &Arc<Host>) {
        if let Some(Ahead { id, call, .. }) = self.ahead.pop_front() {
            self.began(host, id, call);
        }
    }

    fn began(&mut self, host: &Arc<Host>, id: u64, call: QueuedCall) {
        let QueuedCall { mut under_way, begun, .. } = call;
        under_way.began();
        for refusal in std::mem::take(&mut self.refused) {
            under_way.refused(&refusal);
        }
        self.began = Instant::now();
        self.under_way.insert(id, under_way);
        // Whoever waited may be gone; the call's end is waited for all the same.
        let _ = begun.send(Ok((host.clone(), id)));
    }
}

/// How far a host's frames are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Silent,
    Greeted,
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
        lives: &TaskTracker,
        shares: &Arc<Shares>,
        on_event: impl Fn(&Arc<Host>, HostEvent) + Send + Sync + 'static,
    ) -> Arc<Host> {
        let (writer, queue) = mpsc::channel::<Outgoing>(WRITE_QUEUE);
        let (loading, load) = watch::channel(Load::Pending);
        let (kill, killed) = oneshot::channel();
        let host = Arc::new(Host {
            isolate: key(spec),
            organization: spec.organization.clone(),
            spec: spec.clone(),
            desk: Desk::new(writer),
            calls: Mutex::default(),
            cancels: Mutex::default(),
            load,
            kill: Mutex::new(Some(kill)),
            retiring: AtomicBool::new(false),
            slowed: AtomicBool::new(false),
            makes_room: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            pid: self.launched.child.id(),
            since: Instant::now(),
        });
        let Launched { child, wire, private, told, group } = self.launched;
        if let Some(told) = told {
            // The guard outlives the host by a moment.
            let host = Arc::downgrade(&host);
            let tell = move |refusal: &Refusal| {
                if let Some(host) = host.upgrade() {
                    host.refused(refusal);
                }
            };
            // It was not set: a blank is assigned once.
            let _ = told.set(Box::new(tell));
        }
        let life = Life {
            host: host.clone(),
            loading,
            child,
            private,
            group,
            heap_mb: self.heap_mb,
            frame_bytes_max: config.frame_bytes_max,
            tmp_bytes_max: config.tmp_bytes_max,
            load_timeout: config.load_timeout,
            late_processor_max: config.late_processor_max,
            shares: shares.clone(),
            on_event: Box::new(on_event),
        };
        lives.spawn(life.live(wire, queue, killed));
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
        if calls.dead || calls.left_running || self.retiring.load(Ordering::SeqCst) {
            return None;
        }
        let id = calls.newest + 1;
        let head = wire::head(
            &format!(r#"{{"t":"call","id":{id},"deadline_ms":{},"#, call.timeout.as_millis()),
            call.fields.len(),
        );
        if self.desk.writer.try_send(Outgoing::new(head, call.fields.clone())).is_err() {
            // It reads nothing, or is gone.
            self.kill(Death::Ended);
            return None;
        }
        calls.newest = id;
        Some(id)
    }

    /// How many calls it has ahead, where it may have one more: its calls are short, and none
    /// awaits anything.
    pub(crate) fn takes_ahead(&self, call: &QueuedCall, wait_max: Duration) -> Option<usize> {
        if self.retiring.load(Ordering::SeqCst)
            || self.slowed.load(Ordering::SeqCst)
            || call.fields.len() > AHEAD_BYTES_MAX
        {
            return None;
        }
        let calls = self.calls.lock();
        let there = calls.ahead.len();
        let waits = calls.mean * u32::try_from(there + 1).unwrap_or(u32::MAX);
        let takes = !calls.dead
            && !calls.under_way.is_empty()
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
                .desk
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
        if self.retiring.load(Ordering::SeqCst)
            || self.slowed.load(Ordering::SeqCst)
            || !self.has_loaded()
        {
            return false;
        }
        let calls = self.calls.lock();
        !calls.dead
            && !calls.left_running
            && calls.ahead.is_empty()
            && calls.under_way.len() < calls_max as usize
    }

    /// Whether it has no call.
    pub(crate) fn is_idle(&self) -> bool {
        let calls = self.calls.lock();
        calls.under_way.is_empty() && calls.ahead.is_empty() && !calls.left_running
    }

    pub(crate) fn has_loaded(&self) -> bool {
        matches!(*self.load.borrow(), Load::Loaded)
    }

    /// Whether what its last call started goes on.
    pub(crate) fn has_left_running(&self) -> bool {
        self.calls.lock().left_running
    }

    /// Whether one of its calls awaits something, or left something running, and its process waits
    /// for something else than a processor. How long a call has been under way says nothing of
    /// that: where processors are short, all take long.
    pub(crate) fn awaits(&self) -> bool {
        let awaits = {
            let calls = self.calls.lock();
            calls.left_running || calls.under_way.values().any(|call| call.awaits)
        };
        awaits && self.pid.is_some_and(sleeps)
    }

    /// A connection was refused. It is not known which call wanted it: all under way are told, each
    /// once of each address.
    fn refused(&self, refusal: &Refusal) {
        let mut calls = self.calls.lock();
        if calls.under_way.is_empty() && calls.refused.len() < REFUSALS_KEPT {
            calls.refused.insert(*refusal);
        }
        for call in calls.under_way.values_mut() {
            call.refused(refusal);
        }
    }

    /// Takes a call away that ran over its time; None if it ended meanwhile. The host takes no
    /// more.
    pub(crate) fn give_up(&self, id: u64) -> Option<UnderWay> {
        let mut calls = self.calls.lock();
        self.retiring.store(true, Ordering::SeqCst);
        let call = calls.under_way.remove(&id);
        if call.is_some() {
            calls.late.insert(id);
        }
        call
    }

    /// Tells the host that a call is not waited for; the receiver ends when it answers.
    pub(crate) async fn cancel(&self, id: u64) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        self.cancels.lock().insert(id, tell);
        // A host that is gone needs no cancel.
        let _ = self
            .desk
            .writer
            .send(wire::frame(&[r#"{"t":"cancel","id":"#, &id.to_string(), "}"]).into())
            .await;
        told
    }

    /// Ends the process.
    pub(crate) fn kill(&self, death: Death) {
        self.retiring.store(true, Ordering::SeqCst);
        if let Some(kill) = self.kill.lock().take() {
            // It may be gone already.
            let _ = kill.send(death);
        }
    }

    /// Takes no more calls, and reports in the log of the last one why what it left running is
    /// ended. False where another one is under way: then the host ends with that.
    pub(crate) fn ends_without_call(&self, why: &str) -> bool {
        let mut calls = self.calls.lock();
        self.retiring.store(true, Ordering::SeqCst);
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

    /// Ends the calls that are under way and takes no more.
    pub(crate) fn bury(&self, death: &Death) {
        let calls = {
            let mut calls = self.calls.lock();
            calls.dead = true;
            calls.ended.clear();
            std::mem::take(&mut calls.under_way)
        };
        for call in calls.into_values() {
            let step = call.step();
            call.end(Err(death.failure(step)));
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.lock().under_way.len()
    }

    /// Since when it has had its room, where it may be retired for others: once it has loaded.
    pub(crate) fn may_make_room(&self) -> Option<Instant> {
        (!self.retiring.load(Ordering::SeqCst) && self.has_loaded()).then_some(self.since)
    }

    /// Calls that have ended since it began.
    pub(crate) fn ended(&self) -> u64 {
        let calls = self.calls.lock();
        calls.newest.saturating_sub((calls.under_way.len() + calls.ahead.len()) as u64)
    }

    /// Handles one frame of a call or of loading.
    pub(crate) fn frame(
        self: &Arc<Self>,
        bytes: &Bytes,
        phase: &mut Phase,
        loading: &watch::Sender<Load>,
    ) -> Result<Option<HostEvent>, WireError> {
        let frame = wire::parse(bytes)?;
        if matches!(frame, FromHost::Hello { .. }) != (*phase == Phase::Silent) {
            return Err(WireError::OutOfOrder("`hello` comes first, and once"));
        }
        let pending = matches!(*loading.borrow(), Load::Pending);
        let id = match &frame {
            FromHost::Hello { protocol } if *protocol == PROTOCOL => {
                *phase = Phase::Greeted;
                return Ok(None);
            }
            FromHost::Hello { .. } => {
                return Err(WireError::OutOfOrder("another version of the protocol"));
            }
            FromHost::Loaded | FromHost::LoadFailed { .. } if !pending => {
                return Err(WireError::OutOfOrder("loaded twice"));
            }
            FromHost::Loaded => {
                loading.send_replace(Load::Loaded);
                return Ok(Some(HostEvent::Freed));
            }
            FromHost::LoadFailed { error } => {
                let failure =
                    CallFailure { kind: FailureKind::LoadFailed, ..thrown(error.clone(), None) };
                loading.send_replace(Load::Failed);
                return Ok(Some(HostEvent::LoadFailed(failure)));
            }
            FromHost::Cancelled { id } => {
                let told = self.cancels.lock().remove(id).ok_or(WireError::UnknownCall)?;
                // Whoever asked may have gone away.
                let _ = told.send(());
                return Ok(None);
            }
            FromHost::Quiet => {
                let mut calls = self.calls.lock();
                if !std::mem::take(&mut calls.left_running) {
                    return Err(WireError::OutOfOrder(
                        "`quiet` without a call that left something running",
                    ));
                }
                // What it did not give back reaches it only now.
                calls.advance(self);
                return Ok(Some(HostEvent::Freed));
            }
            FromHost::Back { id } => {
                let mut calls = self.calls.lock();
                let position = calls.ahead.iter().position(|ahead| ahead.id == *id);
                calls.gave_back = true;
                let back = position
                    .and_then(|position| calls.ahead.remove(position))
                    .ok_or(WireError::UnknownCall)?;
                return Ok(Some(HostEvent::GaveBack(back)));
            }
            FromHost::Awaits { id }
            | FromHost::Log { id, .. }
            | FromHost::Emit { id, .. }
            | FromHost::Db { id, .. }
            | FromHost::Respond { id, .. }
            | FromHost::Step { id, .. }
            | FromHost::Send { id, .. }
            | FromHost::Ask { id, .. }
            | FromHost::Done { id, .. } => *id,
        };
        // Held while the frame is handled: a call is given up before a frame of it or after, and
        // one whose frame is a violation ends as its host does.
        let mut calls = self.calls.lock();
        let frame = match frame {
            FromHost::Log { late: true, level, text, ts, .. } => {
                return calls.late_line(id, &level, text, ts).map(|()| None);
            }
            frame => frame,
        };
        let Some(call) = calls.under_way.get_mut(&id) else {
            // Frames of a call that we gave up are late, until it is done; all others are forged,
            // or follow an end.
            if !calls.late.contains(&id) {
                return Err(WireError::UnknownCall);
            }
            if matches!(frame, FromHost::Done { .. }) {
                calls.late.remove(&id);
            }
            return Ok(None);
        };
        let frame = match frame {
            FromHost::Awaits { .. } => {
                call.awaits = true;
                return Ok(None);
            }
            FromHost::Ask { ask, kind, payload, .. } => {
                return call.ask(&self.desk, id, ask, kind, payload).map(|()| None);
            }
            frame => frame,
        };
        let left_running = matches!(&frame, FromHost::Done { left_running: true, .. });
        let (ended, with_host) = match call.frame(frame, bytes.len())? {
            After::GoesOn => return Ok(None),
            After::Over(ended) => (ended, false),
            After::OverWithHost(failure) => (Err(failure), true),
        };
        calls.left_running = left_running;
        calls.finish(id, ended);
        if !left_running && !with_host && calls.under_way.is_empty() {
            calls.advance(self);
        }
        drop(calls);
        *self.used.lock() = Instant::now();
        if with_host {
            self.kill(Death::Ended);
            return Ok(None);
        }
        Ok(Some(if left_running { HostEvent::LeftRunning } else { HostEvent::Freed }))
    }
}

/// Whether a process waits for something else than a processor.
pub(crate) fn sleeps(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Its name, in parentheses, may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['S', 'D']))
}
