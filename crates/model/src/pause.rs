//! Pauses of a workflow's run (reference 4): what is kept between two of its attempts.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Why a run is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PauseKind {
    /// `$.flow.delay`: goes on with the next step.
    Delay,
    /// `$.flow.suspend`: goes on with the next step when it is asked to; is cancelled otherwise.
    Suspend,
    /// `$.flow.rerun`: runs the same step again.
    Rerun,
    /// The step failed and the workflow retries: runs the same step again.
    Retry,
}

/// Why a run is paused, at which step, and when the pause ends by itself.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Paused {
    /// Why.
    pub kind: PauseKind,
    /// The step.
    pub namespace: String,
    /// When it ends by itself, epoch milliseconds; of `suspend`: when the run is cancelled.
    pub until_ms: i64,
}

/// What the next attempt needs to know. Stored as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PauseState {
    /// Why.
    pub kind: PauseKind,
    /// The step.
    pub namespace: String,
    /// For a step that runs again: `{runs, context}`, and the request that ended an earlier pause
    /// of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RawValue>>,
    /// How often the step was retried after errors.
    #[serde(default)]
    pub retries: u32,
}
