//! Runs under way.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::error_event::ErrorGroup;
use millrace_model::event::Event;
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::run::{LogLine, NewRun, Run, RunStatus};
use millrace_model::webhook::WebhookDelivery;

use crate::{Delivery, Notice, SourceChange, StoreResult};

/// A claim of queued runs.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Who claims.
    pub node: &'a str,
    /// The current time.
    pub now: Timestamp,
    /// The end of the leases.
    pub lease_until: Timestamp,
    /// How many at most.
    pub limit: u32,
    /// Owners take turns in the order of their ids: those behind this one come first.
    pub after: &'a str,
    /// Owners whose runs are left where they are.
    pub passed_over: &'a [String],
}

/// What becomes durable beside a run's own end.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Emitted events, `$errors` events among them; ids given by the engine.
    pub events: Vec<Event>,
    /// The change of the source's state.
    pub source: Option<SourceChange>,
    /// Runs of listeners.
    pub runs: Vec<NewRun>,
    /// What goes to listeners of events, bytes, as the engine counts it against its limit; not
    /// stored.
    pub passed_on_bytes: usize,
    /// Events that the source's `dedupe` strategy left out, as the run's result says; not stored by
    /// itself.
    pub deduped: u64,
    /// Log lines of a run (`log_owner`: the workflow or source, as text).
    pub logs: Vec<LogLine>,
    /// Whose logs they are: organization, owner, run.
    pub log_owner: Option<(OrgId, String, RunId)>,
    /// What is sent to webhooks.
    pub webhook_deliveries: Vec<WebhookDelivery>,
    /// A notice of an error.
    pub notice: Option<Notice>,
    /// What the run sent to the outside, in order.
    pub deliveries: Vec<Delivery>,
    /// A deferred event that these effects deliver, by emitter and id: it waits no longer.
    /// `StateChanged` where it does not wait any more.
    pub deferred: Option<(String, EventId)>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The run.
    pub run_id: RunId,
    /// The attempt that held it.
    pub attempt: i64,
    /// A final status.
    pub status: RunStatus,
    /// When it ended.
    pub finished_at: Timestamp,
    /// `RunResult`, JSON text.
    pub result: String,
    /// The error body, JSON text.
    pub error: Option<String>,
    /// What the error is counted under: as if it were the first of its group. The newest gives the
    /// group its message and run.
    pub group: Option<ErrorGroup>,
    /// What takes the event's place, JSON text, where nothing of the run is kept: its log and what
    /// it was resumed with go too.
    pub forget: Option<String>,
    /// The run itself, where nothing of it is stored yet: its event becomes durable with its end.
    pub unstored: Option<Box<Unstored>>,
    /// What else becomes durable.
    pub effects: Effects,
}

impl Settlement {
    /// Whether there is nothing to write beside the run's end.
    pub fn is_alone(&self) -> bool {
        let e = &self.effects;
        self.group.is_none()
            && self.forget.is_none()
            && e.events.is_empty()
            && e.deferred.is_none()
            && e.source
                .as_ref()
                .is_none_or(|change| change.dedupe.is_none() && change.db.is_empty())
            && e.runs.is_empty()
            && (e.logs.is_empty() || e.log_owner.is_none())
            && e.notice.is_none()
            && e.deliveries.is_empty()
            && e.webhook_deliveries.is_empty()
    }

    /// The class of the error that the run ended with: that of a test too, which counts in no
    /// group.
    pub fn error_class(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Coded {
            code: String,
        }
        let Some(group) = &self.group else {
            let error: Coded = millrace_model::json::from_str(self.error.as_deref()?).ok()?;
            return Some(ErrorGroup::class_of(&error.code));
        };
        Some(group.class.clone())
    }
}

/// A run that is under way and not stored.
#[derive(Clone, Debug)]
pub struct Unstored {
    /// The run, [`millrace_model::run::Start::Claimed`].
    pub run: NewRun,
    /// Who runs it.
    pub node: String,
}

/// The end of an attempt with a pause.
#[derive(Clone, Debug)]
pub struct Pausing {
    /// The run.
    pub run_id: RunId,
    /// The attempt that held it.
    pub attempt: i64,
    /// The current time.
    pub now: Timestamp,
    /// When it ends by itself.
    pub wake_at: Timestamp,
    /// How.
    pub then: PauseEnd,
    /// What the next attempt needs to know of it, JSON text.
    pub state: String,
    /// `RunResult`, JSON text.
    pub result: String,
    /// What else becomes durable.
    pub effects: Effects,
}

/// How a pause ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseEnd {
    /// The run is queued.
    Resume,
    /// The run is cancelled.
    Cancel,
}

/// A pause of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The attempt that ended with it.
    pub attempt: i64,
    /// As [`Pausing::state`].
    pub state: String,
    /// The request that ended it, JSON text; none: its time came.
    pub callback: Option<String>,
}

/// A request to end the pause of an attempt.
#[derive(Clone, Debug)]
pub struct Callback {
    /// The run.
    pub run_id: RunId,
    /// The attempt that was given the address.
    pub attempt: i64,
    /// What is asked for.
    pub end: PauseEnd,
    /// The request, JSON text.
    pub request: String,
    /// When it came.
    pub now: Timestamp,
}

/// What a request to end a pause did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledBack {
    /// The run is queued, or cancelled, as asked.
    Done,
    /// The attempt has not ended: kept until it does.
    Kept,
    /// The pause has ended, or the attempt ended without one, or another request was kept.
    TooLate,
    /// There is no such run.
    Unknown,
}

/// Pauses whose time had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Runs queued.
    pub resumed: u64,
    /// Runs cancelled.
    pub cancelled: u64,
}

/// The verbs: runs from their acceptance to their end, and their pauses.
#[async_trait]
pub trait Runs: Send + Sync + 'static {
    /// Makes an event durable as a run.
    async fn accept(&self, run: NewRun, node: &str) -> StoreResult<()>;
    /// Makes an event durable as a queued run, unless `queue_max` of its owner's wait already:
    /// `QueueFull`. `node`: who should run it as long as it lives, because somebody waits there for
    /// what it answers.
    async fn accept_queued(
        &self,
        run: NewRun,
        queue_max: u32,
        node: Option<&str>,
    ) -> StoreResult<()>;
    /// Owners with limits of which at least so many runs wait.
    async fn full_queues(&self, waiting: u32) -> StoreResult<Vec<String>>;
    /// Gives up to `limit` queued runs to `node` under a lease, oldest first; also those whose
    /// lease ran out (their attempt counts up). Fenced by the attempt returned. Of an owner with
    /// limits no more than these leave room for, however many nodes claim.
    async fn claim(&self, claim: Claim<'_>) -> StoreResult<Vec<Run>>;
    /// Extends the leases of runs this node still holds; gives the ids it no longer holds.
    async fn renew(&self, held: &[(RunId, i64)], lease_until: Timestamp)
    -> StoreResult<Vec<RunId>>;
    /// Gives a run back to the queue, unsettled; with `count_attempt == false` its attempt is not
    /// counted. `Fenced`.
    async fn release(&self, id: &RunId, attempt: i64, count_attempt: bool) -> StoreResult<()>;
    /// Everything a run leaves, in one transaction, fenced by (run, attempt), unless it was not
    /// stored before. `Fenced`, `StateChanged`.
    async fn settle(&self, settlement: Settlement) -> StoreResult<()>;
    /// What the deploy and activate hooks of a source (no run of the queue) leave. `StateChanged`.
    async fn settle_effects(&self, effects: Effects) -> StoreResult<()>;
    /// At start on a database of one node: gives all running runs back to the queue, and makes due
    /// what was taken to be sent and never tried. How many runs.
    async fn requeue_running(&self, node: Option<&str>) -> StoreResult<u64>;
    /// Keeps what the finished steps of a run under way left, so that its next attempt begins
    /// behind them. `Fenced`.
    async fn keep_progress(&self, id: &RunId, attempt: i64, result: &str) -> StoreResult<()>;
    /// Cancels a run that is queued or paused; gives the status it had, in any case.
    async fn cancel_run(
        &self,
        org: &OrgId,
        id: &RunId,
        now: Timestamp,
    ) -> StoreResult<Option<RunStatus>>;
    /// Runs that are queued or running.
    async fn unfinished_runs(&self) -> StoreResult<u64>;

    /// Ends an attempt with a pause and what it left, in one transaction. A request that came
    /// before (see [`Runs::call_back`](crate::Runs::call_back)) ends the pause at once; the status
    /// says what became of the run: paused, queued or cancelled. `Fenced`.
    async fn pause_run(&self, pausing: Pausing) -> StoreResult<RunStatus>;
    /// Ends up to `limit` pauses whose time has come, the longest due first.
    async fn wake_runs(&self, now: Timestamp, limit: u32) -> StoreResult<Woken>;
    /// When the next pause ends by itself.
    async fn next_wake_at(&self) -> StoreResult<Option<Timestamp>>;
    /// A request to resume or cancel the pause of an attempt: ends it, or is kept where that
    /// attempt has not ended. One for each attempt.
    async fn call_back(&self, callback: Callback) -> StoreResult<CalledBack>;
    /// Whose run it is, its status, and its attempt.
    async fn run_attempt(&self, id: &RunId) -> StoreResult<Option<(OrgId, RunStatus, i64)>>;
    /// The last pause of a run.
    async fn last_pause(&self, id: &RunId) -> StoreResult<Option<Pause>>;
}
