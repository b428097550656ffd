//! Errors and replays.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion};
use millrace_model::ids::{ErrorGroupId, OrgId, ReplayId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_model::run::{NewRun, Original, Run};

use crate::{Mail, StoreResult};

/// A notice of an error: the mails are queued only if none for (owner, class) were since
/// `unless_since`; else the count since then goes up. An error of a group that is ignored does
/// neither, and one beyond the owner's [`Notice::CLASSES_MAX`] neither. Mails for which the outbox
/// has no room are left out.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The workflow or source, as text.
    pub owner: String,
    /// The error class.
    pub class: String,
    /// The time of this notice.
    pub at: Timestamp,
    /// An earlier notice after this time forbids this one; one exactly that old does not.
    pub unless_since: Timestamp,
    /// The group of the error, whose state is looked at.
    pub group: Option<ErrorGroupId>,
    /// What to send, one for each recipient; [`Notice::COUNT`] in them stands for how many errors
    /// there were since the last notice, this one included.
    pub mails: Vec<Mail>,
}

impl Notice {
    /// Of a private use, so that it is in no text but by intent.
    pub const COUNT: char = '\u{F8A7}';
    /// Classes of one owner of which notices are sent within the same time: a class is what code
    /// gives an error as a name. Others get none, and are not counted.
    pub const CLASSES_MAX: i64 = 100;

    /// The mails, after `earlier` errors that were not mailed.
    pub fn mails(&self, earlier: i64) -> Vec<Mail> {
        let count = earlier.saturating_add(1).to_string();
        let told = |text: &str| text.replace(Self::COUNT, &count);
        self.mails
            .iter()
            .map(|mail| Mail {
                subject: told(&mail.subject),
                text: told(&mail.text),
                html: mail.html.as_deref().map(told),
                ..mail.clone()
            })
            .collect()
    }
}

/// Groups of errors that a list shows; the default: all.
#[derive(Clone, Debug, Default)]
pub struct ErrorGroupFilter {
    /// Only of this workflow or source, as text.
    pub owner: Option<String>,
    /// Only in one of these states; none given: in any.
    pub states: Vec<ErrorState>,
    /// Only with this class of error.
    pub class: Option<String>,
    /// Only last seen at or after.
    pub since: Option<Timestamp>,
}

impl ErrorGroupFilter {
    /// The states with commas around each, as a text that the engines search in; none: any state.
    pub fn states_text(&self) -> Option<String> {
        let names: Vec<&str> = self.states.iter().map(|state| state.as_str()).collect();
        (!names.is_empty()).then(|| format!(",{},", names.join(",")))
    }
}

/// When a run that failed was accepted, and the group of errors that it is counted under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTime {
    /// When it was accepted.
    pub at: Timestamp,
    /// Its group; none for runs that no group counts.
    pub group: Option<ErrorGroupId>,
}

/// Failed live runs of an owner, the oldest first.
#[derive(Clone, Debug)]
pub struct FailedRuns {
    /// The organization.
    pub org_id: OrgId,
    /// The workflow or source, as text.
    pub owner: String,
    /// Only with this class of error.
    pub class: Option<String>,
    /// Only of this group.
    pub group: Option<ErrorGroupId>,
    /// Only accepted at or after.
    pub from: Option<Timestamp>,
    /// Only accepted before.
    pub to: Option<Timestamp>,
    /// Only after this one: when it was accepted, and its id.
    pub after: Option<(Timestamp, RunId)>,
    /// How many at most.
    pub limit: u32,
}

impl FailedRuns {
    /// The time, in milliseconds, before which nothing needs to be looked at: an index takes one
    /// bound, and the cursor's is the tighter one.
    pub fn oldest(&self) -> i64 {
        let (from, after) = (
            self.from.map_or(i64::MIN, Timestamp::ms),
            self.after.as_ref().map_or(i64::MIN, |(at, _)| at.ms()),
        );
        from.max(after)
    }
}

/// A step of a replay, in one transaction.
#[derive(Clone, Debug)]
pub struct ReplayStep {
    /// The replay after the step; its version is one more than before.
    pub replay: Replay,
    /// The runs it queues, each with the run that it replays.
    pub runs: Vec<(Original, NewRun)>,
}

/// Groups of errors, and replays of runs that failed.
#[async_trait]
pub trait Errors: Send + Sync + 'static {
    /// The groups of errors that fit, the last seen first. Cursor: id.
    async fn list_error_groups(
        &self,
        org: &OrgId,
        filter: &ErrorGroupFilter,
        page: &Page,
    ) -> StoreResult<Listing<ErrorGroup>>;
    /// A group of the organization.
    async fn error_group(&self, org: &OrgId, id: &ErrorGroupId) -> StoreResult<Option<ErrorGroup>>;
    /// Changes a group's state and its note, and keeps the change, beside the newest
    /// [`CHANGES_MAX`](millrace_model::error_event::CHANGES_MAX). False: there is no such group.
    async fn change_error_group(
        &self,
        org: &OrgId,
        id: &ErrorGroupId,
        change: ErrorGroupChange,
    ) -> StoreResult<bool>;
    /// The changes of a group, newest first.
    async fn error_group_changes(&self, id: &ErrorGroupId) -> StoreResult<Vec<ErrorGroupChange>>;
    /// The deployments that runs of a group failed in, newest failure first; of the owner's newest
    /// `scan` failed runs.
    async fn error_group_versions(
        &self,
        group: &ErrorGroup,
        scan: u32,
    ) -> StoreResult<Vec<ErrorVersion>>;
    /// When the newest `max` failed runs of the organization within these times were accepted, and
    /// the group that each is counted under, the newest first.
    async fn failed_times(
        &self,
        org: &OrgId,
        within: (Timestamp, Timestamp),
        max: u32,
    ) -> StoreResult<Vec<FailedTime>>;
    /// Failed runs that fit; none that are replays themselves, and none of which a replay
    /// succeeded.
    async fn failed_runs(&self, which: &FailedRuns) -> StoreResult<Vec<Run>>;
    /// How many of them there are, counted up to `limit`.
    async fn count_failed_runs(&self, which: &FailedRuns) -> StoreResult<u64>;
    /// Stores a replay.
    async fn create_replay(&self, replay: Replay) -> StoreResult<()>;
    /// A replay of the organization.
    async fn replay(&self, org: &OrgId, id: &ReplayId) -> StoreResult<Option<Replay>>;
    /// The replays, newest first, without the events of their selections. Cursor: id.
    async fn list_replays(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Replay>>;
    /// Replays of all organizations that are running, in the order of their ids: those behind
    /// `after` first, then those from the first id on.
    async fn running_replays(&self, after: &str, limit: u32) -> StoreResult<Vec<Replay>>;
    /// Changes a replay and queues runs. `StateChanged` where another change came first; nothing is
    /// written then.
    async fn step_replay(&self, step: ReplayStep) -> StoreResult<()>;
    /// What became of the runs that a replay made.
    async fn replay_counts(&self, id: &ReplayId) -> StoreResult<ReplayCounts>;
    /// Runs that a replay made and that are queued or running.
    async fn replay_under_way(&self, id: &ReplayId) -> StoreResult<u64>;
    /// The runs that a replay made, in the order of those that they replay. Cursor: the id of the
    /// run replayed.
    async fn replayed_runs(&self, id: &ReplayId, page: &Page) -> StoreResult<Listing<ReplayedRun>>;
}
