//! The body of an error event (spec 2.3), how errors are grouped, and the rule of error notices
//! (spec 6.3).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::clock::Timestamp;
use crate::ids::{DeploymentId, ErrorGroupId, OrgId, RunId};
use crate::workflow::Author;

/// One notice for an error class and workflow in this time (spec 8).
pub const NOTICE_WINDOW_MS: i64 = 24 * 3600 * 1000;

/// Bytes of the original event that an error event holds: a request of the default limit fits,
/// however it is escaped. The run has all of it.
pub const ORIGINAL_EVENT_BYTES_MAX: usize = 2 << 20;
/// Bytes of earlier steps' results that an error event holds.
pub const STEP_RESULTS_BYTES_MAX: usize = 256 << 10;
/// What is shown of JSON that was cut, bytes.
const PREVIEW_BYTES: usize = 1 << 10;
/// Characters of a stack's top frame that tell it from others.
const FRAME_CHARS_MAX: usize = 300;
/// Characters of a message that a group shows.
const MESSAGE_CHARS_MAX: usize = 1_000;
/// Characters of an error's class that tell it from others.
const CLASS_CHARS_MAX: usize = 200;
/// What stands in the place of the event of a run that keeps no data, JSON text.
pub const KEPT_NOTHING: &str = r#"{"$kept":false}"#;
/// Groups of one workflow or source; errors beyond are in none.
pub const GROUPS_MAX: i64 = 1_000;

/// Why a run failed; `cellId` is the step's id, empty of a source (spec 2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "RunError")]
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
    /// Exports of the steps that had finished before, by namespace; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<&'a RawValue>,
}

/// Most characters of a note about a group of errors, a workflow or a step.
pub const NOTE_CHARS_MAX: usize = 2_000;
/// Changes of a group's state that are kept.
pub const CHANGES_MAX: u32 = 100;

/// State of a group of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErrorState {
    /// Nobody did anything about it.
    Open,
    /// A person says that it is fixed.
    Resolved,
    /// A person wants no mail about it.
    Ignored,
    /// It was resolved, and a run accepted after that failed with it.
    Regressed,
}

impl ErrorState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Open, Self::Resolved, Self::Ignored, Self::Regressed];

    /// As the API and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
            Self::Ignored => "ignored",
            Self::Regressed => "regressed",
        }
    }

    /// The inverse of [`Self::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// A change of a group's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroupChange {
    /// When it was made.
    pub at: Timestamp,
    /// The state from then on.
    pub state: ErrorState,
    /// The person who made it; none: the server, of a run that failed.
    pub by: Option<Author>,
    /// What the person says of it.
    pub note: Option<String>,
    /// The run that made it regress.
    pub run_id: Option<RunId>,
}

/// Errors of a group in one deployment of its workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorVersion {
    /// The deployment.
    pub deployment_id: DeploymentId,
    /// Its number; none where the deployment is not there any more.
    pub version: Option<i64>,
    /// Failed runs of it that are still kept.
    pub count: i64,
    /// When the oldest of them was accepted.
    pub first_at: Timestamp,
    /// When the newest of them was accepted.
    pub last_at: Timestamp,
}

/// Errors of one class, step and place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroup {
    /// Its id.
    pub id: ErrorGroupId,
    /// The organization.
    pub org_id: OrgId,
    /// The workflow or source, as text.
    pub owner: String,
    /// The error's class or code.
    pub class: String,
    /// The step's namespace; empty for a source, and where no step was struck.
    pub step: String,
    /// The stack's first line that names a place; empty where there is none, as with `Timeout`.
    pub frame: String,
    /// The message of the newest one.
    pub message: String,
    /// The run of the newest one.
    pub last_run_id: RunId,
    /// When the first was seen.
    pub first_at: Timestamp,
    /// When the newest was seen.
    pub last_at: Timestamp,
    /// How many were seen.
    pub count: i64,
    /// Its state.
    pub state: ErrorState,
    /// When the state changed last; none: it never did.
    pub state_at: Option<Timestamp>,
    /// What people noted about it.
    pub note: Option<String>,
}

impl ErrorGroup {
    /// What tells a group from others: one text for a class, step and frame of an owner.
    pub fn fingerprint(owner: &str, class: &str, step: &str, frame: &str) -> String {
        format!("{owner}\n{class}\n{step}\n{frame}")
    }

    /// The class of an error with a code.
    pub fn class_of(code: &str) -> String {
        head(code, CLASS_CHARS_MAX)
    }

    /// An error's class, step, frame and message as a group keeps them.
    pub fn parts(error: &ErrorBody, step: &str) -> [String; 4] {
        [
            Self::class_of(&error.code),
            step.to_owned(),
            head(top_frame(&error.stack), FRAME_CHARS_MAX),
            head(error.message.lines().next().unwrap_or(""), MESSAGE_CHARS_MAX),
        ]
    }
}

fn head(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

/// The first line of a stack that names a place, one outside Node's own code where there is one:
/// all files that a step could not read fail at the same line of Node.
fn top_frame(stack: &str) -> &str {
    let frames = || {
        let places = stack.lines().filter_map(|line| line.trim().strip_prefix("at "));
        // Fields of an error follow its last frame in braces.
        places.map(|place| place.strip_suffix(" {").unwrap_or(place))
    };
    let of_node = |frame: &&str| frame.contains("(node:") || frame.starts_with("node:");
    frames().find(|frame| !of_node(frame)).or_else(|| frames().next()).unwrap_or("")
}

/// JSON text as it is, or a mark that tells how much there was and how it began.
pub fn capped(json: &str, bytes_max: usize) -> String {
    if json.len() <= bytes_max {
        return json.to_owned();
    }
    let preview = &json[..json.floor_char_boundary(PREVIEW_BYTES)];
    serde_json::json!({ "$truncated": true, "$bytes": json.len(), "$preview": preview }).to_string()
}

/// Since when an earlier notice of the same class and workflow forbids another one.
pub const fn notice_cutoff(now: Timestamp) -> Timestamp {
    now.plus_ms(-NOTICE_WINDOW_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_of_a_group_is_of_the_code_that_failed() {
        let check = |stack: &str, expected: &str| assert_eq!(top_frame(stack), expected);
        check("E: x\n    at f (a.mjs:1:2)\n    at g (b.mjs:3:4)", "f (a.mjs:1:2)");
        check(
            "E: x\n    at Object.openSync (node:fs:5:6)\n    at a.mjs:1:2 {\n  code: 'X' }",
            "a.mjs:1:2",
        );
        check("E: x\n    at node:internal/a:5:6", "node:internal/a:5:6");
        check("E: x", "");
    }

    fn body(stack: &str) -> ErrorBody {
        ErrorBody {
            code: "TypeError".into(),
            message: "one\ntwo".into(),
            cell_id: "c_1".into(),
            ts: String::new(),
            stack: stack.into(),
        }
    }

    #[test]
    fn a_group_is_of_a_class_a_step_and_a_place() {
        let parts =
            ErrorGroup::parts(&body("TypeError: one\n  at run (a.mjs:3:9)\n  at x"), "charge");
        assert_eq!(parts, ["TypeError", "charge", "run (a.mjs:3:9)", "one"].map(str::to_owned));
        assert_eq!(ErrorGroup::parts(&body("Timeout: the run did not end"), "")[2], "");
    }

    #[test]
    fn what_is_cut_says_so_and_stays_json() {
        assert_eq!(capped(r#"{"a":1}"#, 7), r#"{"a":1}"#);
        let long = format!("\"{}\"", "é".repeat(2000));
        let cut: serde_json::Value = crate::json::from_str(&capped(&long, 100)).expect("JSON");
        assert_eq!(
            (&cut["$truncated"], &cut["$bytes"]),
            (&serde_json::json!(true), &serde_json::json!(4002))
        );
        assert!(
            cut["$preview"]
                .as_str()
                .is_some_and(|text| text.starts_with("\"éé") && text.len() <= PREVIEW_BYTES)
        );
    }
}
