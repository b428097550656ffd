//! Collector of the effects of a call while it runs.

use std::sync::{Arc, OnceLock, Weak};

use millrace_model::clock::Timestamp;
use millrace_model::egress::{Refusal, RefusedConnection};
use millrace_model::http::EndpointResponse;
use millrace_model::run::{LogLine, Sent, StepAttempt, StepResult};
use millrace_runner::{Ask, Effect, EffectSink, HttpResponse, LateSink};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::run::asks::AskScope;
use crate::run::late::{Handle, Late};
use crate::run::progress::Progress;
use crate::run::unstored::UnstoredRun;
use crate::service_db::{DbWrite, HookDb};
use crate::{Engine, StepEnd, StreamItem};

/// For calls whose effects do not matter.
pub(crate) struct Ignore;

impl EffectSink for Ignore {
    fn effect(&self, _effect: Effect) {}
}

/// For calls of which only the result and the log matter, but which may ask.
pub(crate) struct Answering {
    pub(crate) engine: Engine,
    pub(crate) scope: Arc<AskScope>,
    pub(crate) refusals: Mutex<Vec<Refusal>>,
    pub(crate) logs: Mutex<Vec<LogLine>>,
}

impl EffectSink for Answering {
    fn effect(&self, effect: Effect) {
        if let Effect::Log { level, text, ts_ms } = effect {
            self.logs.lock().push(LogLine { at: Timestamp(ts_ms), level, text, step: None });
        }
    }

    fn refused(&self, refusal: &Refusal) {
        self.refusals.lock().push(*refusal);
    }

    fn ask(&self, ask: Ask) {
        self.engine.answer_later(Some(self.scope.clone()), ask);
    }
}

/// A step that began, and what it left if it ended.
pub(crate) struct StepTrace {
    pub(crate) namespace: String,
    pub(crate) started_at: Timestamp,
    /// Its props, to be shown.
    pub(crate) props: Option<Box<RawValue>>,
    pub(crate) finished: Option<(u64, Box<RawValue>)>,
    /// What it exported before it failed.
    pub(crate) exported: Option<Box<RawValue>>,
    /// Connections that the walls refused meanwhile.
    pub(crate) refusals: Vec<RefusedConnection>,
}

impl StepTrace {
    fn new(namespace: String, started_at: Timestamp) -> Self {
        let refusals = Vec::new();
        Self { namespace, started_at, props: None, finished: None, exported: None, refusals }
    }

    /// What is known of it beside how it ended. `tried`: the step that was tried before, with its
    /// tries.
    pub(crate) fn add_to(&self, step: &mut StepResult, tried: Option<&(String, Vec<StepAttempt>)>) {
        step.started_at_ms = Some(self.started_at.ms());
        step.props.clone_from(&self.props);
        step.refusals.clone_from(&self.refusals);
        step.attempts = tried
            .filter(|(namespace, _)| *namespace == self.namespace)
            .map(|(_, tries)| tries.clone())
            .unwrap_or_default();
    }
}

/// An emit as the code gave it.
pub(crate) struct RawEmit {
    pub(crate) event: Option<Box<RawValue>>,
    pub(crate) meta: Option<Box<RawValue>>,
    /// When the server received it. It is deferred where its `delivery_ts` is later, however late
    /// its run ends.
    pub(crate) at: Timestamp,
}

/// Everything a call did, in order.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) emits: Vec<RawEmit>,
    pub(crate) db: Vec<DbWrite>,
    pub(crate) logs: Vec<LogLine>,
    pub(crate) steps: Vec<StepTrace>,
    pub(crate) sends: Vec<Sent>,
    /// How many of `sends` are of steps that have finished.
    pub(crate) sends_finished: usize,
    /// How many of `logs` were written by then.
    pub(crate) logs_finished: usize,
    /// How many of `logs` streams have got: those that the code wrote, before those that the
    /// server adds.
    pub(crate) logs_streamed: usize,
    pub(crate) response: Option<EndpointResponse>,
    /// Connections that the walls refused.
    pub(crate) refusals: Vec<Refusal>,
    /// Where what comes after the end goes, once the run is settled.
    pub(crate) late: Option<Arc<Late>>,
}

impl Collected {
    /// Puts what attempts before left in front: streams got their lines as they were written.
    pub(crate) fn carry_on(&mut self, sends: Vec<Sent>, logs: Vec<LogLine>) {
        self.logs_streamed += logs.len();
        self.sends.splice(..0, sends);
        self.logs.splice(..0, logs);
    }

    /// The name of the step that is under way.
    pub(crate) fn step_under_way(&self) -> Option<String> {
        self.steps.last().filter(|step| step.finished.is_none()).map(|step| step.namespace.clone())
    }
}

/// What a call may write to a `$.service.db`.
pub(crate) enum CallDb {
    /// It has none: what it writes is dropped.
    None,
    /// A run of a source: its writes settle with it.
    OfRun,
    /// A hook of a source: its writes are stored as they come.
    OfHook(HookDb),
}

/// Whoever waits for the answer of a run; none: it ended without one. Dropped unsent where nothing
/// is known of its end.
pub(crate) type Responder = oneshot::Sender<Option<EndpointResponse>>;

/// Collects the effects of one run and answers its client.
pub(crate) struct Collector {
    engine: Engine,
    /// Whose live logs these are.
    owner: String,
    run_id: millrace_model::ids::RunId,
    db: CallDb,
    /// What it may ask for.
    asking: Option<Arc<AskScope>>,
    late: Option<Arc<Late>>,
    state: Mutex<(Collected, Option<Responder>)>,
    kept: Mutex<Kept>,
    /// The attempt whose lines other servers are told.
    told: OnceLock<i64>,
    /// Itself, for writes in the background.
    this: Weak<Self>,
}

/// How much of what finished steps left is written.
#[derive(Default)]
struct Kept {
    /// None where there is nothing to keep, or the attempt is over.
    progress: Option<Progress>,
    finished: usize,
    written: usize,
    /// Whether a write is about to happen.
    soon: bool,
}

impl Collector {
    /// `asking`: what the call may ask for.
    pub(crate) fn new(
        engine: Engine,
        owner: &str,
        run_id: millrace_model::ids::RunId,
        db: CallDb,
        responder: Option<Responder>,
        asking: Option<AskScope>,
    ) -> Arc<Self> {
        // An action that is run by itself leaves no run behind, and no log.
        let log = asking.as_ref().filter(|_| !owner.is_empty());
        let late = log.map(|scope| {
            Late::new(engine.clone(), scope.org.clone(), owner.to_owned(), run_id.clone())
        });
        Arc::new_cyclic(|this| Self {
            engine,
            late,
            owner: owner.to_owned(),
            run_id,
            db,
            asking: asking.map(Arc::new),
            state: Mutex::new((Collected::default(), responder)),
            kept: Mutex::default(),
            told: OnceLock::new(),
            this: this.clone(),
        })
    }

    /// From now on, lines are told to servers where they are followed.
    pub(crate) fn publish_lines(&self, attempt: i64) {
        // Set once: there is one attempt for a collector.
        let _ = self.told.set(attempt);
    }

    /// From now on, what finished steps leave is kept while the attempt goes on.
    pub(crate) fn keep(&self, progress: Option<Progress>) {
        self.kept.lock().progress = progress;
    }

    /// What `read` makes of what was collected until now. Nothing is added meanwhile.
    pub(crate) fn look<T>(&self, read: impl FnOnce(&Collected) -> T) -> T {
        read(&self.state.lock().0)
    }

    /// What is not written yet, as `read` gives it; from then on it counts as written.
    pub(crate) fn unwritten<T>(&self, read: impl FnOnce(&Progress, &Collected) -> T) -> Option<T> {
        // In the order in which a step's end takes them.
        let state = self.state.lock();
        let mut kept = self.kept.lock();
        kept.soon = false;
        if kept.finished == kept.written {
            return None;
        }
        kept.written = kept.finished;
        kept.progress.as_ref().map(|progress| read(progress, &state.0))
    }

    /// The run, where it may be stored with its end.
    pub(crate) fn unstored(&self) -> Option<&Arc<UnstoredRun>> {
        self.asking.as_ref()?.unstored()
    }

    /// Answers the client once the run's event is durable. Gives the answer back where nobody
    /// waits for it any more.
    fn answer(&self, client: Responder, answer: EndpointResponse) -> Option<EndpointResponse> {
        let Some(unstored) = self.unstored().cloned() else {
            return client.send(Some(answer)).err().flatten();
        };
        let engine = self.engine.clone();
        self.engine.0.tasks.spawn(async move {
            if engine.store_run(Some(&*unstored)).await.is_ok() {
                // The client may have gone away.
                let _ = client.send(Some(answer));
            }
        });
        None
    }

    fn step_ended(&self) {
        let mut kept = self.kept.lock();
        kept.finished += 1;
        if !kept.soon
            && kept.progress.as_ref().is_some_and(|p| p.wanted(kept.finished))
            && let Some(this) = self.this.upgrade()
        {
            kept.soon = true;
            self.engine.keep_progress_soon(this);
        }
    }

    /// What was collected; the client, if it still waits, is answered by the caller.
    pub(crate) fn take(&self) -> (Collected, Option<Responder>) {
        let mut state = self.state.lock();
        self.kept.lock().progress = None;
        state.0.late.clone_from(&self.late);
        state.0.logs_streamed = state.0.logs.len();
        std::mem::take(&mut *state)
    }
}

impl EffectSink for Collector {
    fn refused(&self, refusal: &Refusal) {
        let collected = &mut self.state.lock().0;
        collected.refusals.push(*refusal);
        if let Some(step) = collected.steps.last_mut().filter(|step| {
            step.finished.is_none() && step.refusals.len() < StepResult::REFUSALS_MAX
        }) {
            step.refusals.push(refusal.into());
        }
    }

    fn ask(&self, ask: Ask) {
        self.engine.answer_later(self.asking.clone(), ask);
    }

    fn late(&self) -> Option<Arc<dyn LateSink>> {
        self.late.clone().map(|late| Arc::new(Handle(late)) as Arc<dyn LateSink>)
    }

    fn effect(&self, effect: Effect) {
        let mut state = self.state.lock();
        let (collected, responder) = &mut *state;
        match effect {
            Effect::Log { level, text, ts_ms } => {
                let line =
                    LogLine { at: Timestamp(ts_ms), level, text, step: collected.step_under_way() };
                self.engine
                    .0
                    .streams
                    .send(&self.owner, || StreamItem::Log(self.run_id.clone(), line.clone()));
                if let Some(attempt) = self.told.get() {
                    self.engine.publish_line(
                        &self.owner,
                        &self.run_id,
                        *attempt,
                        collected.logs.len(),
                        &line,
                    );
                }
                collected.logs.push(line);
            }
            Effect::Emit { event, meta } => {
                collected.emits.push(RawEmit { event, meta, at: self.engine.now() })
            }
            Effect::Db { key, value } => {
                let write = (key, value.map(|v| v.get().to_owned()));
                match &self.db {
                    CallDb::None => {}
                    CallDb::OfRun => collected.db.push(write),
                    CallDb::OfHook(db) => db.wrote(write),
                }
            }
            Effect::Respond(response) => {
                // Sources answer as soon as they respond; workflows at the end unless immediate
                // (reference 3).
                let at_once = !matches!(self.db, CallDb::None) || response.immediate;
                let response = to_response(response);
                let unsent = match responder.take_if(|_| at_once) {
                    // A client that waits no longer got another.
                    Some(responder) => self.answer(responder, response),
                    None => Some(response),
                };
                if collected.response.is_none() {
                    collected.response = unsent;
                }
            }
            Effect::StepStarted { namespace } => {
                self.engine.0.streams.send(&self.owner, || {
                    StreamItem::Step(self.run_id.clone(), namespace.clone(), None)
                });
                collected.steps.push(StepTrace::new(namespace, self.engine.now()));
            }
            Effect::StepFinished { namespace, duration_ms, exports } => {
                self.engine.0.streams.send(&self.owner, || {
                    let end = StepEnd { duration_ms, exports: exports.get().to_owned() };
                    StreamItem::Step(self.run_id.clone(), namespace.clone(), Some(Arc::new(end)))
                });
                match collected.steps.last_mut() {
                    Some(step) if step.namespace == namespace => {
                        step.finished = Some((duration_ms, exports));
                        step.exported = None;
                    }
                    _ => {
                        let trace = StepTrace::new(namespace, self.engine.now());
                        collected
                            .steps
                            .push(StepTrace { finished: Some((duration_ms, exports)), ..trace });
                    }
                }
                collected.sends_finished = collected.sends.len();
                collected.logs_finished = collected.logs.len();
                self.step_ended();
            }
            Effect::StepProps { namespace, props } => {
                if let Some(step) =
                    collected.steps.last_mut().filter(|step| step.namespace == namespace)
                {
                    step.props = Some(props);
                }
            }
            Effect::StepFailed { namespace, exports } => {
                if let Some(step) =
                    collected.steps.last_mut().filter(|step| step.namespace == namespace)
                {
                    step.exported = Some(exports);
                }
            }
            Effect::Send { kind, payload } => {
                let step = collected.step_under_way();
                collected.sends.push(Sent(kind, payload, step));
            }
        }
    }
}

fn to_response(response: HttpResponse) -> EndpointResponse {
    EndpointResponse {
        status: response.status,
        headers: response.headers,
        body: response.body.to_vec(),
    }
}
