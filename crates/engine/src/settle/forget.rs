//! Runs that keep no data.

use millrace_model::error_event::KEPT_NOTHING;
use millrace_model::run::RunResult;
use millrace_store::Settlement;
use serde_json::value::RawValue;

use crate::EngineError;
use crate::run::sink::Collected;

/// Takes away what a run that keeps no data would leave: which steps ran and how it ended is told,
/// and its error.
pub(super) fn forget(
    settlement: &mut Settlement,
    result: &mut RunResult,
    collected: &mut Collected,
) -> Result<(), EngineError> {
    settlement.forget = Some(KEPT_NOTHING.into());
    result.return_value = None;
    result.exit_reason = None;
    result.sends.clear();
    for step in &mut result.steps {
        (step.props, step.error) = (None, None);
        step.attempts.clear();
        step.would_send.clear();
        step.exports = RawValue::from_string("{}".into())
            .map_err(|e| EngineError::internal("could not write a result", e))?;
    }
    collected.logs.clear();
    collected.logs_streamed = 0;
    Ok(())
}
