//! A run of a workflow or source: an accepted event on its way to being settled.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{DeploymentId, OrgId, RunId};
use crate::source::Owner;
pub use crate::step_result::{StepAttempt, StepError, StepResult, WouldSend};

/// The states of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Accepted, waits for a worker.
    Queued,
    /// Claimed under a lease.
    Running,
    /// Its attempt ended with a pause: waits for its time or for a request, and costs no memory
    /// meanwhile.
    Paused,
    /// Settled well.
    Succeeded,
    /// Settled with an error.
    Failed,
    /// Ended unfinished: its owner is gone, somebody cancelled it, or nobody resumed it in time.
    Cancelled,
}

impl RunStatus {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads back [`RunStatus::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Paused, Self::Succeeded, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|s| s.as_str() == text)
    }

    /// Whether nothing follows.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// A live event.
    Live,
    /// A test: nothing goes to `$errors`, no e-mail (spec 6.2).
    Test,
    /// A hook of a source.
    Hook,
}

impl RunKind {
    /// As stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
            Self::Hook => "hook",
        }
    }

    /// Reads back [`RunKind::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Live, Self::Test, Self::Hook].into_iter().find(|k| k.as_str() == text)
    }
}

/// A run as it is accepted.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// Its id.
    pub id: RunId,
    /// The organization.
    pub org_id: OrgId,
    /// Whose code runs.
    pub owner: Owner,
    /// The version; none for a test of a draft and for what ran before there was one.
    pub deployment_id: Option<DeploymentId>,
    /// What it is for.
    pub kind: RunKind,
    /// The interface or emitter that brought the event: `hi_`, `ti_`, `dc_`, `p_`; empty for run
    /// now.
    pub trigger_id: String,
    /// The event, JSON text; shared, since a large one would be there once for who stores it and
    /// once for who runs it.
    pub event: Arc<str>,
    /// [`Context`] as JSON text.
    pub context: String,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Where it starts: [`Start::Claimed`] by the accepting node, or in the queue.
    pub start: Start,
    /// What it begins behind, JSON text of [`RunResult`]: a replay from a step has the results of
    /// the steps before.
    pub result: Option<String>,
    /// The run that it replays by itself. Replays of many runs keep theirs ([`crate::replay`]).
    pub replays: Option<Original>,
}

/// The run that a replay repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its id.
    pub id: RunId,
    /// Whether the replay has another event than it had.
    pub event_edited: bool,
}

impl Original {
    /// With its own event.
    pub const fn of(id: RunId) -> Self {
        Self { id, event_edited: false }
    }
}

/// How a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Waits in the queue for any worker.
    Queued,
    /// The accepting node runs it itself, under a lease until then, as attempt 1.
    Claimed {
        /// The end of the lease.
        lease_until: Timestamp,
    },
}

/// Who and what a run comes from: `steps.trigger.context` (spec 2.3, reference 4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "RunContext")]
pub struct Context {
    /// Unique for each execution (KSUID).
    pub id: String,
    /// The same for all executions that come from one event (KSUID).
    pub trace_id: String,
    /// ISO 8601.
    pub ts: String,
    /// `p_…`, or the source's `dc_…`.
    pub workflow_id: String,
    /// Shown name.
    pub workflow_name: String,
    /// `d_…`; empty where no version was deployed.
    pub deployment_id: String,
    /// The trigger's id.
    pub emitter_id: String,
    /// `HTTP`, `TIMER`, `COMPONENT`, `SDK` (run now).
    pub source_type: String,
    /// Whether the event's signature was verified.
    pub verified: bool,
    /// How many workflows passed this event on before.
    pub hops: Option<u32>,
    /// Whether it is a test.
    pub test: bool,
    /// Whether it is a replay.
    pub replay: bool,
    /// The organization.
    pub owner_id: String,
    /// The project.
    pub project_id: Option<String>,
    /// Version of Millrace.
    pub platform_version: String,
    /// Whether nothing of it is kept once it has ended: neither its event nor what its steps left,
    /// nor its log.
    #[serde(default, rename = "nostore", skip_serializing_if = "std::ops::Not::not")]
    pub keeps_nothing: bool,
    /// When the tick was due that this run is of, ISO 8601; only where it came late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    /// Whether this run handles an `$errors` event, so that its own error triggers no listener
    /// (invariant 4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handles_error: bool,
}

/// A run as it is stored.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The organization.
    pub org_id: OrgId,
    /// Whose code runs.
    pub owner: Owner,
    /// The version; none for a test of a draft and for what ran before there was one.
    pub deployment_id: Option<DeploymentId>,
    /// What it is for.
    pub kind: RunKind,
    /// The interface or emitter that brought the event.
    pub trigger_id: String,
    /// The event, JSON text.
    pub event: String,
    /// [`Context`] as JSON text.
    pub context: String,
    /// Its state.
    pub status: RunStatus,
    /// 0 before the first claim. Settling is fenced by it.
    pub attempt: i64,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When the last attempt began.
    pub started_at: Option<Timestamp>,
    /// When it was settled.
    pub finished_at: Option<Timestamp>,
    /// JSON text of [`RunResult`]; until it is settled, of the steps that the next attempt skips.
    pub result: Option<String>,
    /// The error body (spec 2.3), JSON text.
    pub error: Option<String>,
}

impl Run {
    /// Milliseconds that it took; none until it has ended, or where it never started.
    pub fn duration_ms(&self) -> Option<i64> {
        self.started_at.zip(self.finished_at).map(|(start, end)| run_duration_ms(start, end))
    }
}

/// Duration of a run, as filters, statistics and records have it: of its last attempt, at least 0.
pub fn run_duration_ms(started: Timestamp, finished: Timestamp) -> i64 {
    finished.since(started).max(0)
}

/// What a settled run leaves: results of steps in order, and how it ended. Stored as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// The steps that ran.
    pub steps: Vec<StepResult>,
    /// The return value of a source's run or action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_value: Option<serde_json::Value>,
    /// The reason of `$.flow.exit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_reason: Option<String>,
    /// Events of a source's run that its `dedupe` strategy left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub deduped: u64,
    /// While it is paused: where, how and until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<crate::pause::Paused>,
    /// What finished steps of an attempt that has not ended gave to `$.send`: kinds and payloads,
    /// delivered when it ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<Sent>,
    /// What they wrote: lines of the log, stored as such when it ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogLine>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What was given to `$.send`: kind, payload, and the step that did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sent(
    pub String,
    pub Box<serde_json::value::RawValue>,
    #[serde(default)] pub Option<String>,
);

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// `console.debug`
    Debug,
    /// `console.log` and standard output
    Log,
    /// `console.info`
    Info,
    /// `console.warn`
    Warn,
    /// `console.error` and standard error
    Error,
}

impl LogLevel {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Log => "log",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// All, from the least to the gravest.
    pub const ALL: [Self; 5] = [Self::Debug, Self::Log, Self::Info, Self::Warn, Self::Error];

    /// Reads back [`LogLevel::as_str`]; none: it is no level.
    pub fn known(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }

    /// Reads back [`LogLevel::as_str`]; anything else is `log`.
    pub fn parse(text: &str) -> Self {
        Self::known(text).unwrap_or(Self::Log)
    }
}

/// One line of a run's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When it was written.
    pub at: Timestamp,
    /// Its level.
    pub level: LogLevel,
    /// The text.
    pub text: String,
    /// The step that wrote it; none: the run of a source, or the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Which lines of a workflow's or source's log are asked for; what is not given does not narrow
/// them.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Of one of these levels.
    pub levels: Vec<LogLevel>,
    /// With this text in them, whatever the case of ASCII letters.
    pub text: Option<String>,
    /// Written by this step.
    pub step: Option<String>,
    /// Older than the line at this place.
    pub before: Option<LogPlace>,
}

impl LogFilter {
    /// Lines that a filter looks through, the newest.
    pub const LINES_MAX: u32 = 100_000;

    /// Whether lines are passed over.
    pub fn narrows(&self) -> bool {
        !self.levels.is_empty() || self.text.is_some() || self.step.is_some()
    }
}

/// The place of a line in the log of a workflow or source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPlace {
    /// When it was written, epoch milliseconds.
    pub at: i64,
    /// Which of those of that time, as the database numbers them.
    pub number: i64,
}

/// A line of the log of a workflow or source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerLine {
    /// The run that wrote it.
    pub run_id: RunId,
    /// The line.
    pub line: LogLine,
    /// Its place.
    pub place: LogPlace,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_before_steps_were_named_is_read() {
        let text = r#"{"steps":[{"namespace":"a","status":"succeeded","exports":{}}],"sends":[["http",{}],["email",{},"b"]],"logs":[{"at":1,"level":"log","text":"t"}]}"#;
        let read: RunResult = crate::json::from_str(text).unwrap();
        assert_eq!(
            read.sends.iter().map(|sent| sent.2.as_deref()).collect::<Vec<_>>(),
            [None, Some("b")]
        );
        assert_eq!((read.steps[0].props.is_none(), read.logs[0].step.as_deref()), (true, None));
        let tries = (0..30).fold(read.steps[0].clone(), |step, at| StepResult {
            attempts: StepResult { started_at_ms: Some(at), ..step.clone() }.tries(),
            ..step
        });
        assert_eq!(
            (tries.attempts.len(), tries.attempts[0].started_at_ms),
            (StepResult::ATTEMPTS_MAX, Some(10))
        );
    }
}
