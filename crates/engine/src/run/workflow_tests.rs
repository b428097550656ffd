//! Runs that somebody asks for: tests of what is not deployed (spec 6.2), and live runs now.

use std::sync::Arc;

use millrace_model::ids::{EventId, WorkflowId};
use millrace_model::run::{Run, RunKind};
use millrace_model::source::Owner;
use millrace_model::subscription::TEST;
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Drafted, Workflow, WorkflowVersion};
use serde_json::Value;

use crate::deploy::workflow_parts::UpdateWorkflow;
use crate::run::context::Origin;
use crate::run::program::Program;
use crate::{Engine, EngineError};

/// What a test runs on.
#[derive(Clone, Debug)]
pub enum TestEvent {
    /// This event.
    Given(Value),
    /// A test event that was kept.
    Kept(EventId),
}

/// What is tested.
#[derive(Clone, Debug)]
pub struct NewTest {
    /// The workflow whose draft is tested; none: what `changes` says alone, as a workflow of its own that is never stored.
    pub workflow: Option<WorkflowId>,
    /// Triggers, steps and settings to test in place of the draft's; stored nowhere.
    pub changes: UpdateWorkflow,
    /// The event.
    pub event: TestEvent,
    /// The last step to run.
    pub up_to: Option<String>,
}

impl Engine {
    /// Runs a version on an event as a test, all of it or up to a step: nothing goes to `$errors`, no mail (spec 6.2).
    pub async fn test_workflow(&self, caller: &Caller, test: NewTest) -> Result<Run, EngineError> {
        let mut workflow = match &test.workflow {
            Some(id) => self.owned_workflow(caller, id).await?,
            None => self.unstored_workflow(caller).await?,
        };
        if let Some(name) = test.changes.name.as_deref() {
            name.clone_into(&mut workflow.name);
        }
        let (mut version, built) = self.build_version(caller, &workflow.id, &workflow.draft, &test.changes).await?;
        if let Some(last) = &test.up_to {
            let position = version.steps.iter().position(|s| &s.namespace == last);
            let position = position.ok_or_else(|| EngineError::invalid("up_to", format!("the workflow has no step `{last}`")))?;
            version.steps.truncate(position + 1);
        }
        let event = match test.event {
            TestEvent::Given(event) => event.to_string(),
            TestEvent::Kept(event) => self.kept_event(caller, &workflow.id, event).await?,
        };
        let program = Arc::new(self.prepare_workflow(workflow, &version, None, &built).await?);
        let origin = Origin { kind: RunKind::Test, ..Origin::first("SDK", "") };
        let run = self.run_and_wait(caller, &program, &origin, event).await;
        if let Program::Workflow(workflow) = &*program {
            self.0.runner.evict(&workflow.isolate.id).await;
        }
        run
    }

    /// A test event that a request with `x-pd-notrigger` left, JSON text.
    async fn kept_event(&self, caller: &Caller, workflow: &WorkflowId, event: EventId) -> Result<String, EngineError> {
        let before = EventId::from_ordinal(event.ordinal() - 1);
        let found = self.0.store.events_after(&caller.org_id, workflow.as_str(), before, 1).await?.pop();
        let kept = found.filter(|e| e.id == event && e.name == TEST).map(|e| e.payload);
        kept.ok_or_else(|| EngineError::not_found("test event", event))
    }

    /// Runs a workflow's live version now, active or not, and gives the run as it was accepted; or with `wait` as it ended.
    pub async fn run_workflow(&self, caller: &Caller, id: &WorkflowId, event: Value, wait: bool) -> Result<Run, EngineError> {
        self.owned_workflow(caller, id).await?;
        let program = self.program(&caller.org_id, &Owner::Workflow(id.clone()), None).await?.ok_or_else(|| EngineError::Conflict {
            code: "not_deployed",
            message: format!("the workflow `{id}` has no deployment; deploy it first: POST /v1/workflows/{id}/deploy"),
        })?;
        let origin = Origin::first("SDK", "");
        if wait {
            return self.run_and_wait(caller, &program, &origin, event.to_string()).await;
        }
        let id = self.accept_run(program, &origin, event.to_string()).await?;
        self.0.store.run(&caller.org_id, &id).await?.ok_or_else(|| EngineError::not_found("run", id))
    }

    async fn unstored_workflow(&self, caller: &Caller) -> Result<Workflow, EngineError> {
        let organization = self.organization(caller, &caller.org_id).await?;
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
            created_at: now,
            updated_at: now,
        })
    }
}
