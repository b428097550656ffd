//! Settlement of an attempt that ends with a pause: its step waits, or goes again after an error.

use millrace_model::error_event::ErrorBody;
use millrace_model::run::{RunResult, RunStatus, StepAttempt};
use millrace_runner::CallOutcome;
use millrace_store::{Effects, Pausing};

use crate::background::Task;
use crate::run::claimed_run::ClaimedRun;
use crate::run::pauses::{Carried, Rest, may_pause};
use crate::run::program::Program;
use crate::run::sink::Collected;
use crate::settle::publish::Settled;
use crate::settle::result_text;
use crate::{Engine, EngineError};

impl Engine {
    /// The pause that the attempt ended with.
    pub(super) fn rest(
        &self,
        claimed: &ClaimedRun,
        program: &Program,
        carried: &Carried,
        outcome: &CallOutcome,
    ) -> Result<Option<Rest>, EngineError> {
        match (&outcome.result, program) {
            (Err(failure), Program::Workflow(workflow)) if may_pause(claimed) => Ok(workflow
                .settings
                .auto_retry
                .as_ref()
                .and_then(|retry| Rest::retry(retry, failure, carried, self.now()))),
            (Ok(done), Program::Workflow(_)) if may_pause(claimed) => {
                done.paused.as_ref().map(|paused| Rest::of(paused, self.now())).transpose()
            }
            _ => Ok(None),
        }
    }

    /// Completes a pause with the step that it is of, as far as that ran. The error of a step that
    /// runs again goes to the log.
    pub(super) fn add_paused_step(
        &self,
        claimed: &ClaimedRun,
        rest: &mut Rest,
        error: Option<ErrorBody>,
        collected: &mut Collected,
        tried: Option<&(String, Vec<StepAttempt>)>,
    ) -> Result<(), EngineError> {
        let trace = collected.steps.last();
        if let Some(error) = error {
            // Withheld from `$errors` until the last retry has failed.
            collected.logs.push(self.error_line(&format!(
                "{}\nthe step runs again at {}",
                error.stack,
                rest.wake_at.iso()
            )));
            let exported = trace.and_then(|step| step.exported.as_deref());
            rest.step = Some(self.retried_step(claimed, rest, &error, exported)?);
        }
        if let Some(step) = &mut rest.step
            && let Some(trace) = trace.filter(|trace| trace.namespace == step.namespace)
        {
            trace.add_to(step, tried);
            let took = self.now().ms().saturating_sub(trace.started_at.ms());
            step.duration_ms = step.duration_ms.or(u64::try_from(took).ok());
        }
        Ok(())
    }

    /// Ends the attempt with a pause, and all it did with it.
    pub(super) async fn pause(
        &self,
        claimed: &ClaimedRun,
        rest: Rest,
        mut result: RunResult,
        collected: Collected,
        mut effects: Effects,
    ) -> Result<(), EngineError> {
        effects.logs = collected.logs;
        result.paused = Some(rest.shown());
        if let Some(step) = &rest.step {
            result.steps.retain(|s| s.namespace != step.namespace);
            result.steps.push(step.clone());
        }
        self.store_run(claimed.unstored.as_deref()).await?;
        let result = result_text(&result)?;
        let settled = Settled::of(&effects, collected.logs_streamed);
        let (listeners, to_webhooks) = (effects.runs.len(), !effects.webhook_deliveries.is_empty());
        let state = serde_json::to_string(&rest.state)
            .map_err(|e| EngineError::internal("could not write a pause", e))?;
        let (run_id, attempt) = (claimed.id.clone(), claimed.attempt);
        let pausing = Pausing {
            run_id,
            attempt,
            now: self.now(),
            wake_at: rest.wake_at,
            then: rest.then,
            state,
            result,
            effects,
        };
        let status = self.0.store.pause_run(pausing).await?;
        self.publish_settled(settled);
        self.run_changed(&claimed.org_id, claimed.owner.as_str(), &claimed.id);
        if listeners > 0 || status == RunStatus::Queued {
            self.queued();
        }
        if to_webhooks {
            self.0.tasks.wake(Task::WebhookDispatcher);
        }
        self.0.tasks.wake(Task::Scheduler);
        Ok(())
    }
}
