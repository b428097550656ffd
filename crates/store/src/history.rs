//! History and its retention.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::event::{Event, EventFilter, ListedEvent};
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::retention::Retention;
use millrace_model::run::{LogFilter, LogLine, OwnerLine, Run, RunKind, RunStatus};
use millrace_model::run_filter::RunFilter;
use millrace_model::run_stats::{EndedRun, VersionRuns};

use crate::StoreResult;

/// What a run comes from and led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// The run that it replays.
    pub replay_of: Option<RunId>,
    /// The newest replay of it.
    pub replayed_by: Option<RunId>,
    /// Whether the event of a replay is another than that of the run that it replays.
    pub event_edited: bool,
    /// The version of its workflow.
    pub version: Option<i64>,
}

/// A run of a list.
#[derive(Clone, Debug)]
pub struct ListedRun {
    /// The run; of a light record the event is empty, and the result is absent where it is large.
    pub run: Run,
    /// What it comes from and led to.
    pub lineage: Lineage,
}

/// Whose history goes, and how much of it.
#[derive(Clone, Debug)]
pub struct Pruning {
    /// The workflow, source or other emitter.
    pub owner: String,
    /// What was accepted before goes; none: age is no reason.
    pub before: Option<Timestamp>,
    /// Of runs and of events, all but so many of the newest go, but at least one stays; none:
    /// number is no reason.
    pub keep_count: Option<u32>,
    /// How many of a kind at most.
    pub limit: u32,
}

/// What goes by its age that is nobody's history.
#[derive(Clone, Copy, Debug)]
pub struct Leftovers {
    /// Deliveries to webhooks, and mail that was sent or given up, from before; also mail whose try
    /// has been due since before, as nobody takes it.
    pub before: Option<Timestamp>,
    /// Records of who changed what from before.
    pub audit_before: Option<Timestamp>,
    /// The current time: tokens and forms that have ended go.
    pub now: Timestamp,
    /// How many of a kind at most.
    pub limit: u32,
}

/// Which history is exported.
#[derive(Clone, Debug, Default)]
pub struct ExportFilter {
    /// Of this workflow, source or other emitter only.
    pub owner: Option<String>,
    /// Accepted at or after.
    pub from: Option<Timestamp>,
    /// Accepted before.
    pub to: Option<Timestamp>,
}

/// A piece of an export.
#[derive(Clone, Debug)]
pub enum Exported {
    /// A run, with its result.
    Run(Box<Run>),
    /// A log line of a run of an owner.
    Log {
        /// The workflow or source.
        owner: String,
        /// The run.
        run_id: RunId,
        /// The line.
        line: LogLine,
    },
    /// An event.
    Event(Event),
}

/// What changes of a run as it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunState {
    /// Which.
    pub id: RunId,
    /// Where it is.
    pub status: RunStatus,
    /// The attempt under way, or the last.
    pub attempt: i64,
    /// When it was accepted.
    pub created_at: Timestamp,
}

/// The newest event and the newest failed run of an emitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewestOf {
    /// The source or workflow, as text.
    pub emitter: String,
    /// The event.
    pub event: Option<NewestEvent>,
    /// The failed run.
    pub failed: Option<FailedRun>,
}

/// An event without its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewestEvent {
    /// Its id.
    pub id: EventId,
    /// The stream: empty for the default channel.
    pub name: String,
    /// What the emitter said of it, JSON text of an object.
    pub metadata: String,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRun {
    /// Its id.
    pub id: RunId,
    /// When it ended.
    pub at: Timestamp,
    /// `ErrorBody`, JSON text.
    pub error: String,
}

/// Runs that ended, for statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedRuns {
    /// Those that were asked for, newest first.
    pub runs: Vec<EndedRun>,
    /// Whose each of them is.
    pub owners: Vec<String>,
    /// When the oldest was accepted that was looked at, where there were more than may be; those
    /// before it are left out.
    pub looked_at_from: Option<Timestamp>,
}

impl EndedRuns {
    /// Of what an engine found, at most `max`, newest first, each with its owner.
    pub fn of(found: Vec<(String, EndedRun)>, owner: Option<&str>, max: u32) -> Self {
        let is_cut = found.len() >= max as usize;
        let looked_at_from = found.last().filter(|_| is_cut).map(|(_, oldest)| oldest.accepted_at);
        let (owners, runs) =
            found.into_iter().filter(|(of, _)| owner.is_none_or(|owner| of == owner)).unzip();
        Self { runs, owners, looked_at_from }
    }
}

/// What was: runs, logs, events.
#[async_trait]
pub trait History: Send + Sync + 'static {
    /// A run of the organization.
    async fn run(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Run>>;
    /// How many bytes the texts of a run and its logs have; none where there is no such run.
    async fn run_bytes(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<u64>>;
    /// What a run comes from and led to.
    async fn lineage(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Lineage>>;
    /// Runs that fit, newest first; `total_count` is at most 1000. Not `whole`: light records.
    /// Cursor: id. `NoMemory` where the page has no room.
    async fn list_runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> StoreResult<Listing<ListedRun>>;
    /// Runs that fit, with their events and results, the oldest first: after the one that was
    /// accepted at a time and has an id, or from the first.
    async fn matching_runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        after: Option<&(Timestamp, RunId)>,
        limit: u32,
    ) -> StoreResult<Vec<Run>>;
    /// How many runs fit, counted up to `max`.
    async fn count_runs(&self, org: &OrgId, filter: &RunFilter, max: u32) -> StoreResult<u64>;
    /// The newest `limit` runs of a workflow or source from a time on, newest first: as little of
    /// each as tells whether it changed.
    async fn run_states(
        &self,
        org: &OrgId,
        owner: &str,
        from: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<RunState>>;
    /// Runs of this kind that ended, of the organization or one owner in it, accepted within a time
    /// (from, to). At most `max` of the organization are looked at, the newest.
    async fn ended_runs(
        &self,
        org: &OrgId,
        owner: Option<&str>,
        kind: RunKind,
        within: (Timestamp, Timestamp),
        max: u32,
    ) -> StoreResult<EndedRuns>;
    /// Live runs of a workflow or source by version, of its newest `scan` runs.
    async fn version_runs(&self, owner: &str, scan: u32) -> StoreResult<Vec<VersionRuns>>;
    /// Logs of a run, in order.
    async fn run_logs(&self, id: &RunId) -> StoreResult<Vec<LogLine>>;
    /// The newest `limit` log lines of a workflow or source that fit, oldest of them first. A
    /// filter looks through [`LogFilter::LINES_MAX`] of them.
    async fn owner_logs(
        &self,
        org: &OrgId,
        owner: &str,
        filter: &LogFilter,
        limit: u32,
    ) -> StoreResult<Vec<OwnerLine>>;
    /// The newest events of a stream within the page, newest first; `total_count` is at most 100
    /// (spec 2.5), but of `$in`. `name` None: all streams but `$errors` and `$in`. Not `whole`:
    /// summaries. `NoMemory` where the page has no room.
    async fn list_events(
        &self,
        org: &OrgId,
        emitter: &str,
        which: EventFilter<'_>,
        whole: bool,
        page: &Page,
    ) -> StoreResult<Listing<ListedEvent>>;
    /// The newest event that is listed and the newest failed run of each of these emitters, in one
    /// statement.
    async fn newest_of(&self, org: &OrgId, emitters: Vec<String>) -> StoreResult<Vec<NewestOf>>;
    /// Events after `after`, oldest first, at most `limit`: for streams that resume.
    async fn events_after(
        &self,
        org: &OrgId,
        emitter: &str,
        after: EventId,
        limit: u32,
    ) -> StoreResult<Vec<Event>>;
    /// Deferred events (stream `$in`) whose `delivery_ts` is no later than `now`, the longest due
    /// first. [`Effects::deferred`] takes one out.
    async fn due_deferred(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>>;
    /// When the next deferred event is due.
    async fn next_deferred_at(&self) -> StoreResult<Option<Timestamp>>;
    /// Removes events in the inclusive range; without `name` those of all streams but `$in`. How
    /// many. Not of one moment where they are many: what is stored meanwhile may stay.
    async fn delete_events(
        &self,
        org: &OrgId,
        emitter: &str,
        name: Option<&str>,
        range: (Option<EventId>, Option<EventId>),
    ) -> StoreResult<u64>;
    /// Up to `limit` ids after `after`, in their order, of all that has runs, logs or events; also
    /// of what was deleted since.
    async fn history_owners(&self, after: &str, limit: u32) -> StoreResult<Vec<String>>;
    /// Removes settled runs of an owner with all that is theirs, logs without a run, and events,
    /// the oldest first. How many in all; events whose delivery is deferred stay.
    async fn prune(&self, pruning: Pruning) -> StoreResult<u64>;
    /// Removes what is nobody's history. How many in all.
    async fn prune_leftovers(&self, leftovers: Leftovers) -> StoreResult<u64>;
    /// How much history of an owner is kept, where that was set.
    async fn retention(&self, owner: &str) -> StoreResult<Option<Retention>>;
    /// Sets how much history of an owner is kept; none: as the server says.
    async fn put_retention(
        &self,
        org: &OrgId,
        owner: &str,
        retention: Option<Retention>,
    ) -> StoreResult<()>;
    /// Hands over the organization's history as it is at one moment: runs, logs and events, owner
    /// by owner, each the oldest first. Ends early where nobody takes it any more. `Overloaded`
    /// where others are at it.
    async fn export(
        &self,
        org: &OrgId,
        filter: ExportFilter,
        out: tokio::sync::mpsc::Sender<Exported>,
    ) -> StoreResult<()>;
}
