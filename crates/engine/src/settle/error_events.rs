//! Records of a failed run: the event on `$errors`, the group in which it counts (spec 3.3), the
//! notice.

use millrace_model::error_event::{
    ErrorBody, ErrorEvent, ErrorGroup, ErrorState, KEPT_NOTHING, ORIGINAL_EVENT_BYTES_MAX,
    STEP_RESULTS_BYTES_MAX, capped,
};
use millrace_model::ids::ErrorGroupId;
use millrace_model::json;
use millrace_model::run::{Context, LogLevel, LogLine, RunResult, RunStatus};
use millrace_model::subscription::ERRORS;
use millrace_runner::{CallFailure, FailureKind};
use millrace_store::Effects;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::run::claimed_run::ClaimedRun;
use crate::run::program::Program;
use crate::run::sink::Collected;
use crate::tenants::secrets::sha256_hex;
use crate::{Engine, EngineError};

/// Characters of a group's id.
const GROUP_ID_CHARS: usize = 20;

impl Engine {
    pub(crate) fn error_body(&self, program: &Program, failure: &CallFailure) -> ErrorBody {
        let cell_id = match (program, &failure.namespace) {
            (Program::Workflow(workflow), Some(namespace)) => {
                workflow.step_ids.get(namespace).cloned().unwrap_or_default()
            }
            _ => String::new(),
        };
        let advice = match (failure.kind, program) {
            (FailureKind::Timeout, Program::Workflow(_)) => {
                "; raise `settings.timeout_ms` of the workflow, or do less in one run"
            }
            (FailureKind::Timeout, Program::Source(_)) => {
                "; do less in one run, and keep in `$.service.db` where the next one goes on"
            }
            _ => "",
        };
        let told = |text: &str| format!("{text}{advice}");
        ErrorBody {
            code: failure.code.clone(),
            message: told(&failure.message),
            cell_id,
            ts: self.now().iso(),
            stack: told(&failure.stack),
        }
    }

    /// The event on `$errors` and the notice (spec 3.3). An error inside an error handler triggers
    /// no listener (invariant 4).
    pub(crate) async fn add_error_event(
        &self,
        effects: &mut Effects,
        collected: &mut Collected,
        failed: Failed<'_>,
        program: &Program,
        context: &Context,
    ) -> Result<(), EngineError> {
        let Failed { claimed, error, result } = failed;
        let raw = |text: String| {
            RawValue::from_string(text).map_err(|e| EngineError::damaged("a stored event", e))
        };
        let original_event = raw(match context.keeps_nothing {
            true => KEPT_NOTHING.to_owned(),
            false => capped(&claimed.event, ORIGINAL_EVENT_BYTES_MAX),
        })?;
        let original_context = raw(claimed.context.clone())?;
        let steps = match context.keeps_nothing {
            true => None,
            false => earlier_results(result)
                .map(|text| raw(capped(&text, STEP_RESULTS_BYTES_MAX)))
                .transpose()?,
        };
        let body = ErrorEvent {
            original_event: &original_event,
            original_context: &original_context,
            error,
            steps: steps.as_deref(),
        };
        let payload = serde_json::to_string(&body)
            .map_err(|e| EngineError::internal("could not write an error event", e))?;
        let event = self.new_event(
            claimed.owner.as_str(),
            &claimed.org_id,
            ERRORS.into(),
            payload,
            "{}".into(),
        );
        if context.handles_error {
            let line = "this error was raised while an $errors event was handled, so it triggers no listener; it is listed among the workflow's errors";
            collected.logs.push(LogLine {
                at: self.now(),
                level: LogLevel::Warn,
                text: line.into(),
                step: None,
            });
            effects.events.push(event);
        } else {
            self.add_event(effects, event, context, true).await?;
        }
        effects.notice = self.notice(claimed, program, context, error).await?;
        Ok(())
    }

    /// What the error of a live run counts under.
    pub(crate) fn error_group(
        &self,
        claimed: &ClaimedRun,
        program: &Program,
        error: &ErrorBody,
    ) -> ErrorGroup {
        let [class, step, frame, message] = ErrorGroup::parts(error, program.step_of(error));
        let owner = claimed.owner.as_str().to_owned();
        let id = sha256_hex(ErrorGroup::fingerprint(&owner, &class, &step, &frame).as_bytes());
        let now = self.now();
        ErrorGroup {
            id: ErrorGroupId::from_row(format!(
                "{}{}",
                ErrorGroupId::PREFIX,
                &id[..GROUP_ID_CHARS]
            )),
            org_id: claimed.org_id.clone(),
            owner,
            class,
            step,
            frame,
            message,
            last_run_id: claimed.id.clone(),
            first_at: now,
            last_at: now,
            count: 1,
            state: ErrorState::Open,
            state_at: None,
            note: None,
        }
    }
}

/// A run that failed.
pub(crate) struct Failed<'a> {
    pub(crate) claimed: &'a ClaimedRun,
    pub(crate) error: &'a ErrorBody,
    /// What its steps left.
    pub(crate) result: &'a RunResult,
}

/// Exports of the finished steps by namespace, JSON text; None where there are none.
fn earlier_results(result: &RunResult) -> Option<String> {
    let finished: Map<String, Value> = result
        .steps
        .iter()
        .filter(|step| step.status == RunStatus::Succeeded)
        // An error is told, whatever the steps before it left.
        .map(|step| (step.namespace.clone(), json::shown(step.exports.get())))
        .collect();
    (!finished.is_empty()).then(|| Value::Object(finished).to_string())
}
