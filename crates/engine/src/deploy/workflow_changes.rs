//! Changes of a workflow's record. Each is made of the record as it is; where another change came
//! while it was made, it is made anew, so that no change takes back what another one did.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeploymentId, WorkflowId};
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Workflow, WorkflowTag};
use millrace_store::{Interfaces, StoreError};

use crate::background::Task;
use crate::checks::{check_name, checked_note};
use crate::deploy::marks::marked;
use crate::deploy::precondition::check_tag;
use crate::deploy::updates::{DeployRequest, UpdateWorkflow};
use crate::deploy::workflows::{checked_message, checked_tags};
use crate::observe::views::{DeploymentView, WorkflowView};
use crate::{Engine, EngineError};

/// How often a change is made anew.
const TRIES_MAX: usize = 10;

impl Engine {
    /// Changes a workflow's draft, name or active flag. A changed draft goes live with the next
    /// deployment, or with this request where it says so: then all that can be refused is looked at
    /// before anything is stored, and what goes live is the draft of this request alone.
    pub async fn update_workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        update: UpdateWorkflow,
    ) -> Result<WorkflowView, EngineError> {
        let message = checked_message(update.message.clone())?;
        // A draft that was built, and what it was made of.
        let mut made = None;
        for _ in 0..TRIES_MAX {
            let mut workflow = self.owned_workflow(caller, id).await?;
            check_tag(&workflow, update.over.as_deref())?;
            let read_at = workflow.updated_at;
            self.check_ids(&workflow, &update).await?;
            let (draft, built) = match made {
                Some((of, draft)) if of == workflow.draft => (draft, Vec::new()),
                _ => {
                    let before = self.with_deployed_parts(&workflow, &update).await?;
                    self.build_version(caller, id, &before, &update).await?
                }
            };
            made = Some((std::mem::replace(&mut workflow.draft, draft.clone()), draft));
            workflow.drafted = self.drafted(caller);
            let in_settings = update.settings.as_ref().and_then(|s| s.name.as_deref());
            if let Some(name) = update.name.as_deref().or(in_settings) {
                workflow.name = check_name(name)?;
            }
            workflow.made_from = marked(update.made_from.clone(), workflow.made_from)?;
            if let Some(note) = &update.note {
                workflow.note = checked_note("note", Some(note.clone()))?;
            }
            if let Some(tags) = &update.tags {
                workflow.tags = checked_tags(tags)?;
            }
            let interfaces = match update.active {
                Some(active) => Some(self.activated(&mut workflow, active).await?),
                None => None,
            };
            let deployment = update
                .deploys
                .then(|| {
                    self.new_deployment(caller, &workflow, workflow.draft.clone(), message.clone())
                })
                .transpose()?;
            self.save_steps(built).await?;
            if self.replace_workflow(workflow, read_at, interfaces).await? {
                if let Some(deployment) = deployment {
                    self.make_live(deployment).await?;
                }
                self.0.tasks.wake(Task::Scheduler);
                return self.workflow(caller, id).await;
            }
        }
        Err(changed_meanwhile(id))
    }

    /// Makes a workflow active or inactive. Gives its interfaces, which are so too.
    async fn activated(
        &self,
        workflow: &mut Workflow,
        active: bool,
    ) -> Result<Interfaces, EngineError> {
        let id = &workflow.id;
        if active && workflow.deployment_id.is_none() {
            return Err(EngineError::Conflict {
                code: "not_deployed",
                message: format!(
                    "the workflow `{id}` has no deployment; deploy it first: POST /v1/workflows/{id}/deploy"
                ),
            });
        }
        let mut interfaces = self.0.store.interfaces(id.as_str()).await?;
        interfaces.http.iter_mut().for_each(|http| http.active = active);
        interfaces.timers.iter_mut().for_each(|timer| timer.active = active);
        workflow.active = active;
        Ok(interfaces)
    }

    /// Makes an earlier version live again, as a new deployment. The draft becomes that version
    /// too, unless it holds what was never deployed.
    pub async fn rollback_workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        to: &DeploymentId,
        request: DeployRequest,
    ) -> Result<DeploymentView, EngineError> {
        let message = checked_message(request.message)?;
        let workflow = self.owned_workflow(caller, id).await?;
        check_tag(&workflow, request.over.as_deref())?;
        let earlier = self
            .0
            .store
            .deployment(&caller.org_id, to)
            .await?
            .filter(|d| d.workflow_id == *id)
            .ok_or_else(|| EngineError::not_found("deployment", to))?;
        let live = match &workflow.deployment_id {
            Some(live) => self.0.store.deployment(&caller.org_id, live).await?,
            None => None,
        };
        let message = message.or_else(|| Some(format!("Back to version {}", earlier.version)));
        let deployment =
            self.deploy_version(caller, &workflow, earlier.content.clone(), message).await?;
        for _ in 0..TRIES_MAX {
            let mut workflow = self.owned_workflow(caller, id).await?;
            let read_at = workflow.updated_at;
            // A draft that holds more than what was live is somebody's unfinished work, and stays.
            let nothing_else_drafted =
                live.as_ref().is_some_and(|live| live.content == workflow.draft);
            // What is live is no longer what the folder says.
            let from_a_folder =
                workflow.made_from.as_ref().is_some_and(|mark| !mark.fingerprints.is_empty());
            if nothing_else_drafted {
                workflow.draft = earlier.content.clone();
                workflow.drafted = self.drafted(caller);
            } else if !from_a_folder {
                break;
            }
            workflow.made_from = marked(None, workflow.made_from)?;
            if self.replace_workflow(workflow, read_at, None).await? {
                break;
            }
        }
        self.deployed(caller, deployment).await
    }

    /// Makes the draft what is live, secrets included.
    pub async fn discard_draft(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        over: Option<Vec<WorkflowTag>>,
    ) -> Result<WorkflowView, EngineError> {
        for _ in 0..TRIES_MAX {
            let mut workflow = self.owned_workflow(caller, id).await?;
            check_tag(&workflow, over.as_deref())?;
            let read_at = workflow.updated_at;
            let live = match &workflow.deployment_id {
                Some(live) => self.0.store.deployment(&caller.org_id, live).await?,
                None => None,
            };
            let live = live.ok_or_else(|| EngineError::Conflict {
                code: "not_deployed",
                message: format!("the workflow `{id}` has no deployment that its draft could go back to; deploy it first: POST /v1/workflows/{id}/deploy"),
            })?;
            workflow.draft = live.content;
            workflow.drafted = self.drafted(caller);
            workflow.made_from = marked(None, workflow.made_from)?;
            if self.replace_workflow(workflow, read_at, None).await? {
                return self.workflow(caller, id).await;
            }
        }
        Err(changed_meanwhile(id))
    }

    /// Whether the record that was read at that time of its own is now this one: not where another
    /// change came in between.
    async fn replace_workflow(
        &self,
        mut workflow: Workflow,
        read_at: Timestamp,
        interfaces: Option<Interfaces>,
    ) -> Result<bool, EngineError> {
        let id = workflow.id.clone();
        workflow.updated_at = self.now();
        match self.0.store.update_workflow(workflow, read_at, interfaces).await {
            Err(StoreError::StateChanged) => return Ok(false),
            done => done?,
        }
        self.forget_owner(id.as_str());
        Ok(true)
    }
}

fn changed_meanwhile(id: &WorkflowId) -> EngineError {
    EngineError::Conflict {
        code: "changed_meanwhile",
        message: format!("the workflow `{id}` is being changed by others; try again"),
    }
}
