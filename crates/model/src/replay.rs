//! A replay of many runs: a job that outlives the server and is looked at, held and ended while it
//! goes on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::clock::Timestamp;
use crate::ids::{ErrorGroupId, OrgId, ReplayId, RunId};
use crate::run_filter::RunFilter;

/// Runs that a selection may name.
pub const RUNS_NAMED_MAX: usize = 1_000;

/// A replay of many runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Its id.
    pub id: ReplayId,
    /// The organization.
    pub org_id: OrgId,
    /// The workflow or source whose runs they are, as text; empty: of any.
    pub owner: String,
    /// Which runs, and from where.
    pub selection: ReplaySelection,
    /// Its state.
    pub status: ReplayStatus,
    /// Counts up with each change; who changes it names the one before.
    pub version: i64,
    /// How far it came.
    pub position: ReplayPosition,
    /// Runs that fit when it was made; none: more than were counted.
    pub total: Option<i64>,
    /// Runs queued so far.
    pub replayed: i64,
    /// Runs passed over so far.
    pub skipped: i64,
    /// Why the last one was passed over, or why it failed.
    pub note: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Which runs are replayed, from where and by which version: `runs` by their ids, `filter` as lists
/// of runs take it, else those that failed and fit the rest. Stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ReplaySelection {
    /// These; without them, all that failed and fit the rest. Runs that are replays themselves, and
    /// those of which a replay succeeded, do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Vec<RunId>>,
    /// The error's class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The group of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<ErrorGroupId>,
    /// Accepted at or after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Accepted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// In place of these: live runs that ended and fit this, replays among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<RunFilter>,
    /// What takes the place of each run's event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<serde_json::Value>,
    /// Where each replay begins.
    pub begin: ReplayBegin,
    /// Which version runs.
    pub version: ReplayVersion,
}

impl ReplaySelection {
    /// Reads a stored one without its event, which may be long, for a list.
    ///
    /// # Errors
    /// It is not what is stored.
    pub fn light(stored: &str) -> serde_json::Result<Self> {
        let mut parts: BTreeMap<&str, &RawValue> = crate::json::from_str(stored)?;
        parts.remove("event");
        crate::json::from_str(&serde_json::to_string(&parts)?)
    }
}

/// Which version of a workflow a replay runs. A source has only the live one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReplayVersion {
    /// The live one.
    #[default]
    Live,
    /// The one that the run had that is replayed.
    Original,
    /// The draft, as a test; of a single run only.
    Draft,
}

impl ReplayVersion {
    /// Its name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Original => "original",
            Self::Draft => "draft",
        }
    }

    /// Reads a name of the API.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "live" => Some(Self::Live),
            "original" => Some(Self::Original),
            "draft" => Some(Self::Draft),
            _ => None,
        }
    }
}

/// Where a replay begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayBegin {
    /// With the first step.
    #[default]
    Start,
    /// With the step that failed.
    Failed,
    /// With this step.
    Step(String),
}

/// How far a replay came. Stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayPosition {
    /// Of named runs: how many are done with.
    pub named: usize,
    /// Of others: when the last one that was looked at was accepted, and its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<(Timestamp, RunId)>,
}

/// The states of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayStatus {
    /// Queues runs.
    Running,
    /// Held: queues none until it is resumed.
    Paused,
    /// All are queued.
    Done,
    /// Ended before its end; what was queued stays so.
    Cancelled,
    /// Could not go on; its note says why.
    Failed,
}

impl ReplayStatus {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Reads back [`ReplayStatus::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Running, Self::Paused, Self::Done, Self::Cancelled, Self::Failed]
            .into_iter()
            .find(|s| s.as_str() == text)
    }

    /// Whether nothing follows.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Failed)
    }
}

/// A run that a replay made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedRun {
    /// The run that was replayed.
    pub original_id: RunId,
    /// The new run.
    pub run_id: RunId,
    /// The new run's state; none: it was pruned.
    pub status: Option<crate::run::RunStatus>,
}

/// What became of the runs that a replay made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Queued, running or paused.
    pub unfinished: i64,
    /// Settled well.
    pub succeeded: i64,
    /// Settled with an error.
    pub failed: i64,
    /// Ended unfinished.
    pub cancelled: i64,
}
