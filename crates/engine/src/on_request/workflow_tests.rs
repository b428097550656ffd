//! Runs on request: tests of undeployed versions (spec 6.2), and live runs at once.

use std::sync::Arc;

use millrace_model::error_event::KEPT_NOTHING;
use millrace_model::ids::{EventId, RunId, WorkflowId};
use millrace_model::run::{NewRun, Run, RunKind, RunResult, RunStatus, Start, StepResult};
use millrace_model::source::Owner;
use millrace_model::subscription::TEST;
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Drafted, Workflow, WorkflowVersion};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::ReplayFrom;
use crate::deploy::updates::UpdateWorkflow;
use crate::run::context::Origin;
use crate::run::program::Program;
use crate::run::replay_from::{results_before, step_at};
use crate::{Engine, EngineError};

/// What a test runs on.
#[derive(Clone, Debug)]
pub enum TestEvent {
    /// This event.
    Given(Value),
    /// A test event that was kept.
    Kept(EventId),
    /// The event that this run had.
    OfRun(RunId),
}

/// What is tested.
#[derive(Clone, Debug)]
pub struct NewTest {
    /// The workflow whose draft is tested; none: what `changes` says alone, as a workflow of its
    /// own that is never stored.
    pub workflow: Option<WorkflowId>,
    /// Triggers, steps and settings to test in place of the draft's; stored nowhere.
    pub changes: UpdateWorkflow,
    /// The event.
    pub event: TestEvent,
    /// The last step to run.
    pub up_to: Option<String>,
    /// The first step to run, and the run that has the results of those before it; none: the pins
    /// are these.
    pub from: Option<(String, Option<RunId>)>,
    /// Exports of steps that do not run, by name; they win over those of a run.
    pub pins: Map<String, Value>,
    /// Whether the caller waits for its end.
    pub waits: bool,
}

impl Engine {
    /// Runs a version on an event as a test, all of it or up to a step: nothing goes to `$errors`,
    /// no mail (spec 6.2).
    pub async fn test_workflow(&self, caller: &Caller, test: NewTest) -> Result<Run, EngineError> {
        let mut workflow = match &test.workflow {
            Some(id) => self.owned_workflow(caller, id).await?,
            None => self.unstored_workflow(caller).await?,
        };
        self.check_may_run_draft(caller, &workflow)?;
        if let Some(name) = test.changes.name.as_deref() {
            name.clone_into(&mut workflow.name);
        }
        let before = self.with_deployed_parts(&workflow, &test.changes).await?;
        let (mut version, built) =
            self.build_version(caller, &workflow.id, &before, &test.changes).await?;
        if let Some(last) = &test.up_to {
            let position = version.steps.iter().position(|s| &s.namespace == last);
            let position = position.ok_or_else(|| {
                EngineError::invalid("up_to", format!("the workflow has no step `{last}`"))
            })?;
            let first = test.from.as_ref().map(|(first, _)| first);
            if version.steps[position + 1..].iter().any(|step| Some(&step.namespace) == first) {
                let message = format!(
                    "`{last}` comes before the step that `from_step` names; begin with it or earlier"
                );
                return Err(EngineError::invalid("up_to", message));
            }
            version.steps.truncate(position + 1);
        }
        let event = match test.event {
            TestEvent::Given(event) => event.to_string(),
            TestEvent::Kept(event) => self.kept_event(caller, &workflow.id, event).await?,
            TestEvent::OfRun(run) => self.event_of_run(caller, &run).await?,
        };
        let namespaces: Vec<String> =
            version.steps.iter().map(|step| step.namespace.clone()).collect();
        let result = self.results_at_hand(caller, &namespaces, test.from, test.pins).await?;
        let program = Arc::new(self.prepare_workflow(workflow, &version, None, &built).await?);
        let origin = Origin { kind: RunKind::Test, ..Origin::first("SDK", "") };
        let start = Start::Claimed { lease_until: self.lease_until() };
        let begun = match self.new_run(&program, &origin, event, start) {
            Ok(run) => self.begin_test(&program, NewRun { result, ..run }).await,
            Err(error) => Err(error),
        };
        let engine = self.clone();
        let evict = async move {
            if let Program::Workflow(workflow) = &*program {
                engine.0.runner.evict(&workflow.isolate.id).await;
            }
        };
        let (id, ended) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                evict.await;
                return Err(error);
            }
        };
        // The sender goes away unsent only when the server stops.
        if test.waits {
            let _ = ended.await;
            self.test_is_over(&id);
            evict.await;
        } else {
            let (engine, id) = (self.clone(), id.clone());
            self.0.tasks.spawn(async move {
                let _ = ended.await;
                engine.test_is_over(&id);
                evict.await;
            });
        }
        self.0
            .store
            .run(&caller.org_id, &id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))
    }

    async fn begin_test(
        &self,
        program: &Arc<Program>,
        run: NewRun,
    ) -> Result<(RunId, oneshot::Receiver<()>), EngineError> {
        let id = run.id.clone();
        self.test_begins(&id);
        let begun = self.begin(program, run).await;
        if begun.is_err() {
            self.test_is_over(&id);
        }
        Ok((id, begun?))
    }

    /// Results that a test begins with, JSON text of [`RunResult`]; none where it begins with the
    /// first step and nothing is pinned.
    async fn results_at_hand(
        &self,
        caller: &Caller,
        namespaces: &[String],
        from: Option<(String, Option<RunId>)>,
        pins: Map<String, Value>,
    ) -> Result<Option<String>, EngineError> {
        if from.is_none() && pins.is_empty() {
            return Ok(None);
        }
        let mut result = match from {
            None => RunResult::default(),
            Some((step, None)) => {
                check_pinned(namespaces, &step, &pins)?;
                RunResult::default()
            }
            Some((step, Some(run))) => {
                let run = self
                    .0
                    .store
                    .run(&caller.org_id, &run)
                    .await?
                    .ok_or_else(|| EngineError::not_found("run", run))?;
                results_before(namespaces, &run, ReplayFrom::Step(step))?
            }
        };
        for (namespace, exports) in pins {
            if !namespaces.contains(&namespace) {
                return Err(EngineError::invalid(
                    "pins",
                    format!(
                        "the workflow has no step `{namespace}`; its steps are {}",
                        namespaces.join(", ")
                    ),
                ));
            }
            if !exports.is_object() {
                return Err(EngineError::invalid(
                    "pins",
                    format!(
                        "what is pinned to `{namespace}` is no object; give its exports by name, such as `{{\"$return_value\": 1}}`"
                    ),
                ));
            }
            let exports = to_raw_value(&exports)
                .map_err(|e| EngineError::internal("could not write exports", e))?;
            result.steps.retain(|step| step.namespace != namespace);
            result.steps.push(StepResult::new(namespace, RunStatus::Succeeded, None, exports));
        }
        let place = |step: &StepResult| {
            namespaces.iter().position(|namespace| *namespace == step.namespace)
        };
        result.steps.sort_by_key(place);
        serde_json::to_string(&result)
            .map(Some)
            .map_err(|e| EngineError::internal("could not write a result", e))
    }

    /// The event of a run, JSON text.
    async fn event_of_run(&self, caller: &Caller, id: &RunId) -> Result<String, EngineError> {
        let run = self
            .0
            .store
            .run(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        if run.event == KEPT_NOTHING {
            return Err(EngineError::Conflict {
                code: "not_kept",
                message: format!(
                    "the run `{id}` kept no data, so its event is gone; give one as `event`"
                ),
            });
        }
        Ok(run.event)
    }

    /// A test event that a request with `x-pd-notrigger` left, JSON text.
    async fn kept_event(
        &self,
        caller: &Caller,
        workflow: &WorkflowId,
        event: EventId,
    ) -> Result<String, EngineError> {
        let before = EventId::from_ordinal(event.ordinal() - 1);
        let found =
            self.0.store.events_after(&caller.org_id, workflow.as_str(), before, 1).await?.pop();
        let kept = found.filter(|e| e.id == event && e.name == TEST).map(|e| e.payload);
        kept.ok_or_else(|| EngineError::not_found("test event", event))
    }

    /// Runs a workflow's live version now, active or not, and gives the run as it was accepted; or
    /// with `wait` as it ended.
    pub async fn run_workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        event: Value,
        wait: bool,
    ) -> Result<Run, EngineError> {
        self.owned_workflow(caller, id).await?;
        let program = self.program(&caller.org_id, &Owner::Workflow(id.clone()), None).await?.ok_or_else(|| EngineError::Conflict {
            code: "not_deployed",
            message: format!("the workflow `{id}` has no deployment; deploy it first: POST /v1/workflows/{id}/deploy"),
        })?;
        let origin = Origin::first("SDK", "");
        if wait {
            return self.run_and_wait(caller, &program, &origin, event.to_string()).await;
        }
        let start = Start::Claimed { lease_until: self.lease_until() };
        let run = self.new_run(&program, &origin, event.to_string(), start)?;
        let id = run.id.clone();
        self.begin(&program, run).await?;
        self.0
            .store
            .run(&caller.org_id, &id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))
    }

    async fn unstored_workflow(&self, caller: &Caller) -> Result<Workflow, EngineError> {
        let organization = self.organizations().get(caller, &caller.org_id).await?;
        let now = self.now();
        Ok(Workflow {
            id: WorkflowId::generate(&self.0.ids),
            org_id: organization.id,
            project_id: organization.project_id,
            name: "test".into(),
            name_slug: "test".into(),
            active: false,
            draft: WorkflowVersion::default(),
            drafted: Drafted { revision: 0, is_changed: true, at: now, by: None },
            deployment_id: None,
            made_from: None,
            note: None,
            tags: Vec::new(),
            created_at: now,
            updated_at: now,
        })
    }
}

/// Refuses a test that begins with a step where a step before it has no pinned exports.
fn check_pinned(
    namespaces: &[String],
    first: &str,
    pins: &Map<String, Value>,
) -> Result<(), EngineError> {
    let at = step_at(namespaces, first)?;
    let missing: Vec<_> = namespaces[..at]
        .iter()
        .filter(|namespace| !pins.contains_key(*namespace))
        .map(|namespace| format!("`{namespace}`"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(EngineError::invalid(
        "results_of",
        format!(
            "the test begins with `{first}`, and steps before it have no results ({}); name the run that has them as `results_of`, or give them as `pins`",
            missing.join(", ")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_begins_with_a_step_whose_earlier_ones_are_all_pinned() {
        let namespaces = ["a", "b", "c"].map(str::to_owned);
        let refused = |first: &str, pins: Value| {
            let pins = pins.as_object().expect("an object");
            check_pinned(&namespaces, first, pins).err().map(|error| error.to_string())
        };
        assert_eq!(refused("a", json!({})), None);
        assert_eq!(refused("b", json!({ "a": {} })), None);
        assert_eq!(refused("c", json!({ "a": {}, "b": {} })), None);
        let missing = refused("c", json!({ "a": {}, "c": {} })).expect("`b` is missing");
        assert!(missing.contains("(`b`)"), "{missing}");
        let unknown = refused("d", json!({})).expect("there is none");
        assert!(unknown.contains("no step `d`"), "{unknown}");
    }
}
