//! Settling: what a run leaves becomes durable in one transaction (invariants 2, 3, 4).

mod bare;
pub(crate) mod emits;
pub(crate) mod error_events;
mod forget;
pub(crate) mod notice;
mod pausing;
pub(crate) mod publish;
pub(crate) mod sends;
pub(crate) mod settle_order;
mod would_send;

use std::sync::Arc;

use millrace_model::ids::RunId;
use millrace_model::json;
use millrace_model::run::{Context, RunKind, RunResult, RunStatus, Start, StepResult};
use millrace_runner::CallOutcome;
use millrace_store::{Effects, Settlement, StoreError};
use serde_json::value::RawValue;

use crate::background::Task;
use crate::run::cancel;
use crate::run::claimed_run::ClaimedRun;
use crate::run::context::Origin;
use crate::run::pauses::Carried;
use crate::run::program::{Program, SourceProgram, WorkflowProgram};
use crate::run::sink::Collected;
use crate::settle::error_events::Failed;
use crate::settle::forget::forget;
use crate::settle::publish::Settled;
use crate::{Engine, EngineError};

/// How often a settlement is decided anew because the source's state moved under it.
const TRIES_MAX: u32 = 50;

impl Engine {
    /// Settles a run with all it did; or its attempt, where that ended with a pause.
    pub(crate) async fn settle_run(
        &self,
        claimed: &ClaimedRun,
        program: &Arc<Program>,
        carried: Carried,
        mut collected: Collected,
        outcome: CallOutcome,
    ) -> Result<(), EngineError> {
        let context: Context = millrace_model::json::from_str(&claimed.context)
            .map_err(|e| EngineError::damaged("a stored context", e))?;
        let mut error =
            outcome.result.as_ref().err().map(|failure| self.error_body(program, failure));
        let mut rest = self.rest(claimed, program, &carried, &outcome)?;
        if let Some(rest) = &mut rest {
            let tried = carried.tried.as_ref();
            self.add_paused_step(claimed, rest, error.take(), &mut collected, tried)?;
        }
        if let (Some(error), Program::Source(_)) = (&error, &**program) {
            collected.logs.push(self.error_line(&error.stack));
        }
        let status = cancel::status_of(error.as_ref(), &outcome);
        let mut settlement = self.bare_settlement(claimed, status)?;
        let mut result = result_of(carried, &mut collected, &outcome)?;
        if let Program::Workflow(workflow) = &**program {
            let paused = rest.as_mut().and_then(|rest| rest.step.as_mut());
            arrange_steps(&mut result.steps, paused, workflow, context.test);
        }
        settlement.error = error
            .as_ref()
            .map(serde_json::to_string)
            .transpose()
            .map_err(|e| EngineError::internal("could not write an error", e))?;
        let mut effects = Effects {
            log_owner: Some((
                claimed.org_id.clone(),
                claimed.owner.as_str().to_owned(),
                claimed.id.clone(),
            )),
            ..Effects::default()
        };
        if claimed.kind == RunKind::Live
            && let Some(error) = &error
        {
            settlement.group = Some(self.error_group(claimed, program, error));
            let failed = Failed { claimed, error, result: &result };
            Box::pin(self.add_error_event(&mut effects, &mut collected, failed, program, &context))
                .await?;
        }
        if claimed.kind == RunKind::Test {
            would_send::record(&mut result.steps, &collected.sends);
        }
        self.add_sends(&mut effects, &mut collected, claimed, &context).await?;
        // What was cut off on the way is in the log as well.
        collected.logs.append(&mut effects.logs);
        if let Some(rest) = rest {
            return Box::pin(self.pause(claimed, rest, result, collected, effects)).await;
        }
        if context.keeps_nothing {
            if let Some(late) = &collected.late {
                late.drop_all();
            }
            forget(&mut settlement, &mut result, &mut collected)?;
        }
        settlement.result = result_text(&result)?;
        let base = effects;
        match &**program {
            Program::Workflow(_) | Program::Damaged(_) => {
                settlement.effects = Effects { logs: collected.logs, ..base };
                self.commit(claimed, program, settlement, collected.logs_streamed).await
            }
            Program::Source(source) => {
                Box::pin(
                    self.settle_source(
                        claimed, program, source, &context, collected, settlement, base,
                    ),
                )
                .await
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one settlement, taken apart once")]
    async fn settle_source(
        &self,
        claimed: &ClaimedRun,
        program: &Arc<Program>,
        source: &SourceProgram,
        context: &Context,
        collected: Collected,
        settlement: Settlement,
        base: Effects,
    ) -> Result<(), EngineError> {
        for _ in 0..TRIES_MAX {
            let turn = self.0.settle_order.turn_of(&source.source.id).await;
            let mut effects = base.clone();
            effects.logs.clone_from(&collected.logs);
            let leaves = self.add_emits(&mut effects, source, context, &collected, &turn).await?;
            self.add_log_event(&mut effects, claimed, context).await?;
            let mut attempt = Settlement { effects, ..settlement.clone() };
            if attempt.effects.deduped > 0 {
                let mut result: RunResult = millrace_model::json::from_str(&attempt.result)
                    .map_err(|e| EngineError::damaged("a result", e))?;
                result.deduped = attempt.effects.deduped;
                attempt.result = result_text(&result)?;
            }
            let commit = self.commit(claimed, program, attempt, collected.logs_streamed);
            let done = self.commit_in_turn(turn, leaves, commit).await;
            if !has_changed(&done) {
                return done;
            }
        }
        Err(EngineError::internal(
            "a source's state kept changing while its run was settled",
            claimed.id.to_string(),
        ))
    }

    /// What a hook left, which is no run of the queue.
    pub(crate) async fn settle_hook(
        &self,
        program: &Program,
        source: &SourceProgram,
        run_id: &RunId,
        origin: &Origin,
        collected: Collected,
    ) -> Result<(), EngineError> {
        let context: Context = {
            let run = self.new_run(program, origin, "null", Start::Queued)?;
            millrace_model::json::from_str(&run.context)
                .map_err(|e| EngineError::damaged("a context", e))?
        };
        for _ in 0..TRIES_MAX {
            let turn = self.0.settle_order.turn_of(&source.source.id).await;
            let mut effects = Effects {
                logs: collected.logs.clone(),
                log_owner: Some((
                    source.source.org_id.clone(),
                    source.source.id.to_string(),
                    run_id.clone(),
                )),
                ..Effects::default()
            };
            let leaves = self.add_emits(&mut effects, source, &context, &collected, &turn).await?;
            let settled = Settled::of(&effects, collected.logs_streamed);
            let wrote = !effects.logs.is_empty();
            let commit =
                async { self.0.store.settle_effects(effects).await.map_err(EngineError::from) };
            let done = self.commit_in_turn(turn, leaves, commit).await;
            if !has_changed(&done) {
                done?;
                self.publish_settled(settled);
                if wrote {
                    self.publish_log(&source.source.org_id, source.source.id.as_str(), run_id);
                }
                self.queued();
                self.0.tasks.wake(Task::WebhookDispatcher);
                return Ok(());
            }
        }
        Err(EngineError::internal(
            "a source's state kept changing while a hook was settled",
            source.source.id.to_string(),
        ))
    }

    async fn commit(
        &self,
        claimed: &ClaimedRun,
        program: &Program,
        settlement: Settlement,
        streamed: usize,
    ) -> Result<(), EngineError> {
        let effects = &settlement.effects;
        let (settled, listeners) = (Settled::of(effects, streamed), effects.runs.len());
        let woken = [
            (Task::Mailer, effects.notice.is_some()),
            (Task::Deliverer, !effects.deliveries.is_empty()),
            (Task::WebhookDispatcher, !effects.webhook_deliveries.is_empty()),
        ];
        self.store_end(settlement, claimed.unstored.as_deref()).await?;
        self.publish_settled(settled);
        let identity = program.identity();
        self.run_changed(identity.org_id, identity.owner.as_str(), &claimed.id);
        if listeners > 0 {
            self.queued();
        }
        for (task, _) in woken.into_iter().filter(|(_, has_work)| *has_work) {
            self.0.tasks.wake(task);
        }
        Ok(())
    }
}

/// What the store found, where it refused what it understood.
fn stopped_by(error: &EngineError) -> Option<&StoreError> {
    let EngineError::Internal { source, .. } = error else { return None };
    source.downcast_ref()
}

/// Whether the source's state moved under a settlement: it is decided anew.
fn has_changed(done: &Result<(), EngineError>) -> bool {
    done.as_ref().is_err_and(|error| matches!(stopped_by(error), Some(StoreError::StateChanged)))
}

/// Whether nothing was settled because another attempt holds or settled the run.
pub(crate) fn is_fenced(error: &EngineError) -> bool {
    matches!(stopped_by(error), Some(StoreError::Fenced))
}

/// Puts the steps of a test in the order of its workflow, and says which component each one is.
fn arrange_steps(
    steps: &mut [StepResult],
    paused: Option<&mut StepResult>,
    workflow: &WorkflowProgram,
    is_test: bool,
) {
    if is_test {
        // Only tests have pinned results: such a step stands where it would have run.
        steps.sort_by_key(|step| {
            workflow.namespaces.iter().position(|namespace| *namespace == step.namespace)
        });
    }
    for step in steps.iter_mut().chain(paused) {
        step.component_key = workflow.component_keys.get(&step.namespace).cloned();
    }
}

/// What the run leaves: the steps of earlier attempts, then those of this one.
fn result_of(
    carried: Carried,
    collected: &mut Collected,
    outcome: &CallOutcome,
) -> Result<RunResult, EngineError> {
    let empty = || {
        RawValue::from_string("{}".into())
            .map_err(|e| EngineError::internal("could not write a result", e))
    };
    let tried = carried.tried;
    let mut result = RunResult { steps: carried.steps, ..RunResult::default() };
    // A step that runs again is not finished, and is shown by its pause.
    let again = outcome
        .result
        .as_ref()
        .ok()
        .and_then(|done| done.paused.as_ref())
        .map(|p| p.namespace.clone());
    for mut step in collected
        .steps
        .drain(..)
        .filter(|s| s.finished.is_some() || Some(&s.namespace) != again.as_ref())
    {
        let (namespace, exported) = (step.namespace.clone(), step.exported.take());
        let mut shown = match step.finished.take() {
            Some((duration_ms, exports)) => {
                StepResult::new(namespace, RunStatus::Succeeded, Some(duration_ms), exports)
            }
            None => StepResult::new(
                namespace,
                RunStatus::Failed,
                None,
                exported.map_or_else(empty, Ok)?,
            ),
        };
        step.add_to(&mut shown, tried.as_ref());
        result.steps.push(shown);
    }
    if let Ok(done) = &outcome.result {
        result.return_value = json::read(done.result.get()).ok().filter(|v| !v.is_null());
        result.exit_reason.clone_from(&done.exit);
    }
    Ok(result)
}

fn result_text(result: &RunResult) -> Result<String, EngineError> {
    serde_json::to_string(result).map_err(|e| EngineError::internal("could not write a result", e))
}
