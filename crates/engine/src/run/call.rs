//! Bodies of calls, as the runtime reads them: of a source, and of a workflow.

use millrace_model::component::Hook;
use millrace_model::run::RunKind;
use serde_json::value::RawValue;

use crate::EngineError;
use crate::run::claimed_run::ClaimedRun;
use crate::run::pauses::Carried;

/// Name of a component's only module in its isolate.
pub(crate) const MODULE: &str = "component";

/// The body of a source's call: `event`, `props` and `dynamic_props` are JSON text; `db`: what its
/// `$.service.db` holds.
pub(crate) fn source_call(
    props: &str,
    dynamic_props: &str,
    db: Option<&RawValue>,
    hook: Option<Hook>,
    event: &str,
) -> Result<Box<RawValue>, EngineError> {
    let hook = hook.map_or_else(|| "null".to_owned(), |h| format!("\"{}\"", h.name()));
    let body = format!(
        r#"{{"kind":"source","module":"{}","hook":{hook},"event":{event},"props":{props},"dynamic_props":{dynamic_props},"db":{}}}"#,
        MODULE,
        db.map_or("null", RawValue::get)
    );
    RawValue::from_string(body).map_err(|e| EngineError::internal("could not write a call", e))
}

/// The body of a workflow's call: `steps` and `flow` are JSON text.
pub(crate) fn workflow_call(
    steps: &str,
    claimed: &ClaimedRun,
    carried: &Carried,
    flow: &str,
    deadline_ms: i64,
) -> Result<Box<RawValue>, EngineError> {
    let test = claimed.kind == RunKind::Test;
    // `$.context` is the trigger's context and what only a running step knows (reference 4).
    let open = claimed.context.strip_suffix('}').unwrap_or("{");
    let comma = if open.len() > 1 { "," } else { "" };
    let body = format!(
        r#"{{"kind":"workflow","trigger":{{"event":{},"context":{}}},"steps":{},"context":{open}{comma}"deadline":{deadline_ms},"JIT":{test},"run":{{"runs":1,"context":null,"callback_request":null}}}},"results":{},"flow":{flow},"test":{test}{}}}"#,
        claimed.event,
        claimed.context,
        steps,
        carried.results()?,
        carried.resume_field()
    );
    RawValue::from_string(body).map_err(|e| EngineError::internal("could not write a call", e))
}
