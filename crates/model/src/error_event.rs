//! The body of an error event (spec 2.3) and the rule of error notices (spec 6.3).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::clock::Timestamp;

/// One notice for an error class and workflow in this time (spec 8).
pub const NOTICE_WINDOW_MS: i64 = 24 * 3600 * 1000;

/// Details of an error (spec 2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Error code or class name.
    pub code: String,
    /// The message.
    pub message: String,
    /// Id of the step that threw; empty for a source.
    #[serde(rename = "cellId")]
    pub cell_id: String,
    /// ISO 8601.
    pub ts: String,
    /// Full stack trace.
    pub stack: String,
}

/// The payload of an event on `$errors` (spec 2.3).
#[derive(Clone, Debug, Serialize)]
pub struct ErrorEvent<'a> {
    /// The event that triggered the failed run.
    pub original_event: &'a RawValue,
    /// Context of the failed run.
    pub original_context: &'a RawValue,
    /// Details of the error.
    pub error: &'a ErrorBody,
}

/// Since when an earlier notice of the same class and workflow forbids another one.
pub const fn notice_cutoff(now: Timestamp) -> Timestamp {
    now.plus_ms(-NOTICE_WINDOW_MS)
}
