//! Result of a step of a run.

use serde::{Deserialize, Serialize};

use crate::egress::RefusedConnection;
use crate::run::RunStatus;

/// One step of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepResult {
    /// Its name.
    pub namespace: String,
    /// `succeeded`, `failed`, or `paused` for a step that will run again.
    pub status: RunStatus,
    /// Wall time, milliseconds; absent where it never ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The key of its component, where that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_key: Option<String>,
    /// Exports by name, `$return_value` and `$summary` among them.
    pub exports: Box<serde_json::value::RawValue>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    /// Its props after expressions, an object: bounded, without credentials. Absent where it has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub props: Option<Box<serde_json::value::RawValue>>,
    /// Why it failed, where it will be tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// Its tries before this one, of those that a pause, a retry or the end of their process ended;
    /// the last [`StepResult::ATTEMPTS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<StepAttempt>,
    /// Connections of this try that the walls refused, at most [`StepResult::REFUSALS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<RefusedConnection>,
    /// What it gave to `$.send` in a test, which sends nothing; bounded, without credentials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_send: Vec<WouldSend>,
}

impl StepResult {
    /// Earlier tries that are kept.
    pub const ATTEMPTS_MAX: usize = 20;
    /// Refused connections that are kept.
    pub const REFUSALS_MAX: usize = 20;

    /// A step of which no more is known.
    pub fn new(
        namespace: String,
        status: RunStatus,
        duration_ms: Option<u64>,
        exports: Box<serde_json::value::RawValue>,
    ) -> Self {
        Self {
            namespace,
            status,
            duration_ms,
            component_key: None,
            exports,
            started_at_ms: None,
            props: None,
            error: None,
            attempts: Vec::new(),
            refusals: Vec::new(),
            would_send: Vec::new(),
        }
    }

    /// As a result that another run goes on from: when, how often, what was refused and what would
    /// be sent is this one's.
    pub fn of_another_run(&self) -> Self {
        let (attempts, refusals, would_send) = (Vec::new(), Vec::new(), Vec::new());
        Self { started_at_ms: None, attempts, refusals, would_send, ..self.clone() }
    }

    /// Its tries, this one as the last.
    pub fn tries(self) -> Vec<StepAttempt> {
        let mut tries = self.attempts;
        tries.push(StepAttempt {
            started_at_ms: self.started_at_ms,
            duration_ms: self.duration_ms,
            error: self.error,
        });
        let beyond = tries.len().saturating_sub(Self::ATTEMPTS_MAX);
        tries.drain(..beyond);
        tries
    }
}

/// A try of a step that was tried again. Where nothing of it is known, its process or the server
/// ended before it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepAttempt {
    /// When it began.
    pub started_at_ms: Option<i64>,
    /// Wall time, milliseconds.
    pub duration_ms: Option<u64>,
    /// Why it failed; none: it asked to run again.
    pub error: Option<StepError>,
}

impl StepAttempt {
    /// A try whose process ended before it did: when it began is not known.
    pub const LOST: Self = Self { started_at_ms: None, duration_ms: None, error: None };
}

/// A call of `$.send` in a test, which a run that is no test sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WouldSend {
    /// `http`, `email`, `s3`, `sse` or `emit`.
    pub kind: String,
    /// Where to: method and address without its query, recipients, bucket and prefix, or channel;
    /// the first 500 characters.
    pub target: String,
    /// What it was given, without credentials; what is long is cut, as in `props`.
    pub payload: serde_json::Value,
}

/// Why a try failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepError {
    /// The error's class.
    pub code: String,
    /// Its message, cut.
    pub message: String,
}
