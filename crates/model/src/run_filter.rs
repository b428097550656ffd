//! Filter of runs: what a list shows, and what is cancelled or replayed together. Stored as JSON,
//! under the names of the API's parameters.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::RunId;
use crate::run::{RunKind, RunStatus};

/// Which runs of an organization are asked for; what is not given does not narrow them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
#[schemars(rename = "ReplayFilter")]
pub struct RunFilter {
    /// These; none: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<RunId>>,
    /// Of this workflow or source, as text.
    #[serde(rename = "owner_id", skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// In one of these states; empty: in any.
    #[serde(rename = "status", skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<RunStatus>,
    /// Of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<RunKind>,
    /// Of this version of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_id: Option<String>,
    /// Brought by this interface or emitter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_id: Option<String>,
    /// Of the executions that come from one event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Failed with an error of this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// Failed with an error of this group.
    #[serde(rename = "group", skip_serializing_if = "Option::is_none")]
    pub error_group: Option<String>,
    /// Replays of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_of: Option<RunId>,
    /// Finished, and took at least so many milliseconds from the start of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ms: Option<i64>,
    /// Accepted at or after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Accepted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}
