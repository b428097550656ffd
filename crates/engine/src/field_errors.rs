//! Errors of fields of a request: `details.field` is the path of the field in the request.

use millrace_model::props::PropError;
use millrace_model::schedule::ScheduleError;
use serde_json::{Value, json};

use crate::EngineError;

impl EngineError {
    /// A wrong field.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid {
            code: "invalid_field",
            message: message.into(),
            details: json!({ "field": field }),
        }
    }

    /// A missing field.
    pub fn missing(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid {
            code: "missing_field",
            message: message.into(),
            details: json!({ "field": field }),
        }
    }

    /// A cursor that names no place in a list.
    pub fn unknown_cursor(field: &'static str) -> Self {
        let message = format!(
            "`{field}` names nothing: what it named was deleted, or never was; begin the list again without it"
        );
        Self::Invalid { code: "unknown_cursor", message, details: json!({ "field": field }) }
    }

    /// Another record has what the field names.
    pub fn taken(field: &'static str, message: impl Into<String>) -> Self {
        Self::Taken { code: "taken", field, message: message.into() }
    }

    /// A schedule that cannot be, of the timer at a path of the request.
    pub(crate) fn schedule_of(timer: &str) -> impl Fn(ScheduleError) -> Self {
        move |error| schedule_at(timer, &error)
    }
}

/// A schedule whose parts are fields of the request.
impl From<ScheduleError> for EngineError {
    fn from(error: ScheduleError) -> Self {
        let field = match &error {
            ScheduleError::Interval { .. } => "interval_seconds",
            ScheduleError::Timezone { .. } => "timezone",
            _ => "cron",
        };
        schedule_at(field, &error)
    }
}

fn schedule_at(field: &str, error: &ScheduleError) -> EngineError {
    let (code, message) = ("invalid_schedule", error.to_string());
    EngineError::Invalid { code, message, details: json!({ "field": field }) }
}

/// Problems of props that one error names: a short component can have thousands of props.
const PROBLEMS_MAX: usize = 50;

/// All problems of a component's props in one error, as far as there is room.
pub(crate) fn invalid_props(errors: &[PropError]) -> EngineError {
    let mut message =
        errors.iter().take(PROBLEMS_MAX).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if let Some(more) = errors.len().checked_sub(PROBLEMS_MAX).filter(|more| *more > 0) {
        message.push_str(&format!("; and {more} more"));
    }
    let missing = errors.iter().all(|e| matches!(e, PropError::Missing { .. }));
    let props: Vec<Value> = errors
        .iter()
        .take(PROBLEMS_MAX)
        .map(|e| json!({ "prop": e.prop(), "problem": e.to_string() }))
        .collect();
    EngineError::Invalid {
        code: if missing { "missing_props" } else { "invalid_props" },
        message,
        details: json!({ "field": "configured_props", "props": props }),
    }
}
