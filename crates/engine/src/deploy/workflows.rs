//! Workflows: made, changed, deployed as immutable versions, tested, rolled back, deleted.

use millrace_model::ids::{DeploymentId, SubscriptionId, WorkflowId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::RunStatus;
use millrace_model::run_stats::VersionRuns;
use millrace_model::search::AskedWord;
use millrace_model::source::{HttpInterface, Owner, Timer};
use millrace_model::subscription::Subscription;
use millrace_model::tenant::Caller;
use millrace_model::workflow::{
    Deployment, Drafted, MESSAGE_MAX, TAG_CHARS_MAX, TAGS_MAX, Trigger, Workflow, WorkflowVersion,
};
use millrace_store::{Interfaces, NewDeployment, RunFilter};

use crate::background::Task;
use crate::checks::{check_name, checked_note};
use crate::deploy::marks::checked;
use crate::deploy::new_records::NewWorkflow;
use crate::deploy::precondition::check_tag;
use crate::deploy::updates::{DeployRequest, UpdateWorkflow};
use crate::error::removable;
use crate::observe::views::{DeploymentView, WorkflowView};
use crate::owners::check_owner;
use crate::run::program::BuiltSteps;
use crate::tenants::secrets::hide_sealed;
use crate::{Engine, EngineError};

/// Runs of a workflow that are looked at to count those of its versions.
const VERSION_RUNS_SCAN: u32 = 10_000;

/// Runs that are cancelled together, and how often in one request.
const CANCELLED_PAGE: u32 = 100;
const CANCELLED_PAGES: u32 = 10;

impl Engine {
    /// Makes a workflow and, unless asked not to, deploys it.
    pub async fn create_workflow(
        &self,
        caller: &Caller,
        new: NewWorkflow,
    ) -> Result<WorkflowView, EngineError> {
        let organization = self.organizations().get(caller, &caller.org_id).await?;
        if let Some(project) = &new.project_id
            && project != organization.project_id.as_str()
        {
            return Err(EngineError::not_found("project", project));
        }
        let name = check_name(
            new.name.as_deref().or(new.settings.name.as_deref()).unwrap_or("Untitled workflow"),
        )?;
        let id = WorkflowId::generate(&self.0.ids);
        let update = UpdateWorkflow {
            triggers: Some(new.triggers),
            steps: Some(new.steps),
            settings: Some(new.settings),
            ..UpdateWorkflow::default()
        };
        let message = checked_message(new.message)?;
        let (draft, built) =
            self.build_version(caller, &id, &WorkflowVersion::default(), &update).await?;
        let now = self.now();
        let mut workflow = Workflow {
            id,
            org_id: caller.org_id.clone(),
            project_id: organization.project_id,
            name_slug: String::new(),
            name,
            active: false,
            draft,
            drafted: self.drafted(caller),
            deployment_id: None,
            made_from: checked(new.made_from)?,
            note: checked_note("note", new.note)?,
            tags: checked_tags(&new.tags)?,
            created_at: now,
            updated_at: now,
        };
        self.save_steps(built).await?;
        self.insert_workflow(&mut workflow, new.unique_name).await?;
        if new.auto_deploy {
            let mut made =
                self.new_deployment(caller, &workflow, workflow.draft.clone(), message)?;
            made.active = new.active;
            made.interfaces.http.iter_mut().for_each(|http| http.active = new.active);
            made.interfaces.timers.iter_mut().for_each(|timer| timer.active = new.active);
            self.make_live(made).await?;
        }
        self.workflow(caller, &workflow.id).await
    }

    /// Makes the draft the live version.
    pub async fn deploy_workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        request: DeployRequest,
    ) -> Result<DeploymentView, EngineError> {
        let message = checked_message(request.message)?;
        let workflow = self.owned_workflow(caller, id).await?;
        check_tag(&workflow, request.over.as_deref())?;
        let deployment =
            self.deploy_version(caller, &workflow, workflow.draft.clone(), message).await?;
        self.deployed(caller, deployment).await
    }

    /// Deletes a workflow; its history stays.
    pub async fn delete_workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
    ) -> Result<(), EngineError> {
        removable(caller, self.owned_workflow(caller, id).await)?;
        self.0.store.delete_workflow(&caller.org_id, id).await?;
        self.forget_owner(id.as_str());
        Ok(())
    }

    /// A workflow with its steps' code.
    pub async fn workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
    ) -> Result<WorkflowView, EngineError> {
        let mut workflow = self.owned_workflow(caller, id).await?;
        let (steps, sources) = self.parts_of(caller, &mut workflow.draft).await?;
        Ok(WorkflowView { workflow, steps, sources })
    }

    /// A version with its steps' code.
    pub async fn deployment(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        deployment: &DeploymentId,
    ) -> Result<DeploymentView, EngineError> {
        self.owned_workflow(caller, id).await?;
        let found = self
            .0
            .store
            .deployment(&caller.org_id, deployment)
            .await?
            .filter(|d| d.workflow_id == *id);
        let mut deployment =
            found.ok_or_else(|| EngineError::not_found("deployment", deployment))?;
        let (steps, sources) = self.parts_of(caller, &mut deployment.content).await?;
        Ok(DeploymentView { deployment, steps, sources })
    }

    /// The workflows, newest first; without their steps' code.
    pub async fn list_workflows(
        &self,
        caller: &Caller,
        tag: Option<&str>,
        page: &Page,
    ) -> Result<Listing<WorkflowView>, EngineError> {
        let listing = self.0.store.list_workflows(&caller.org_id, tag, page).await?;
        let hide = |mut workflow: Workflow| {
            workflow.draft.steps.iter_mut().for_each(|s| hide_sealed(&mut s.props));
            WorkflowView { workflow, steps: Vec::new(), sources: Vec::new() }
        };
        Ok(Listing {
            items: listing.items.into_iter().map(hide).collect(),
            total_count: listing.total_count,
            damaged: listing.damaged,
        })
    }

    /// Deployments, newest first.
    pub async fn list_deployments(
        &self,
        caller: &Caller,
        id: &WorkflowId,
        page: &Page,
    ) -> Result<Listing<Deployment>, EngineError> {
        self.owned_workflow(caller, id).await?;
        let mut listing = self.0.store.list_deployments(&caller.org_id, id, page).await?;
        for deployment in &mut listing.items {
            deployment.content.steps.iter_mut().for_each(|s| hide_sealed(&mut s.props));
        }
        Ok(listing)
    }

    /// Live runs of each version, of the newest 10,000 runs of a workflow or source.
    pub async fn version_runs(
        &self,
        caller: &Caller,
        owner: &str,
    ) -> Result<Vec<VersionRuns>, EngineError> {
        check_owner(&self.0.ctx, caller, owner).await?;
        Ok(self.0.store.version_runs(owner, VERSION_RUNS_SCAN).await?)
    }

    /// Cancels runs that fit and are queued or paused, at most a thousand; those accepted meanwhile
    /// stay. `words`: only those that have all of them. With `dry_run` they are only counted. Gives
    /// how many fit, counted up to a thousand, and how many were cancelled.
    pub async fn cancel_runs(
        &self,
        caller: &Caller,
        filter: RunFilter,
        words: Option<&[Vec<AskedWord>]>,
        dry_run: bool,
    ) -> Result<(u64, u64), EngineError> {
        let filter = &match words {
            Some(words) => self.runs().having(caller, words, filter).await?,
            None => filter,
        };
        let mut page = Page { limit: CANCELLED_PAGE, ..Page::default() };
        let mut listing = self.0.store.list_runs(&caller.org_id, filter, false, &page).await?;
        let (matching, mut cancelled) = (listing.total_count, 0);
        for _ in 0..if dry_run { 0 } else { CANCELLED_PAGES } {
            let Some(last) = listing.items.last() else { break };
            page.after = Some(last.run.id.to_string());
            let now = self.now();
            let ends = listing
                .items
                .iter()
                .map(|listed| self.0.store.cancel_run(&caller.org_id, &listed.run.id, now));
            for before in futures::future::join_all(ends).await {
                // One that began or ended meanwhile stays as it is.
                cancelled +=
                    u64::from(matches!(before?, Some(RunStatus::Queued | RunStatus::Paused)));
            }
            listing = self.0.store.list_runs(&caller.org_id, filter, false, &page).await?;
        }
        Ok((matching, cancelled))
    }

    pub(crate) async fn owned_workflow(
        &self,
        caller: &Caller,
        id: &WorkflowId,
    ) -> Result<Workflow, EngineError> {
        self.0
            .store
            .workflow(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("workflow", id))
    }

    pub(super) async fn save_steps(&self, built: BuiltSteps) -> Result<(), EngineError> {
        for (component, artifact) in built {
            self.0.store.put_artifact(artifact).await?;
            self.0.store.create_component(component).await?;
        }
        Ok(())
    }

    /// A change of a draft that is made now; the store counts it.
    pub(super) fn drafted(&self, caller: &Caller) -> Drafted {
        Drafted {
            revision: 1,
            is_changed: true,
            at: self.now(),
            by: Some(caller.user_id.clone().into()),
        }
    }

    pub(super) async fn deploy_version(
        &self,
        caller: &Caller,
        workflow: &Workflow,
        content: WorkflowVersion,
        message: Option<String>,
    ) -> Result<Deployment, EngineError> {
        self.make_live(self.new_deployment(caller, workflow, content, message)?).await
    }

    /// A deployment of a workflow, refused where its content cannot be deployed now.
    pub(super) fn new_deployment(
        &self,
        caller: &Caller,
        workflow: &Workflow,
        content: WorkflowVersion,
        message: Option<String>,
    ) -> Result<NewDeployment, EngineError> {
        let now = self.now();
        let owner = Owner::Workflow(workflow.id.clone());
        let mut interfaces = Interfaces::default();
        let mut subscriptions = Vec::new();
        for trigger in &content.triggers {
            match trigger {
                Trigger::Http { id, key, custom_response, .. } => {
                    interfaces.http.push(HttpInterface {
                        id: id.clone(),
                        org_id: workflow.org_id.clone(),
                        owner: owner.clone(),
                        key: key.clone(),
                        custom_response: *custom_response,
                        active: true,
                    })
                }
                Trigger::Timer { id, schedule } => interfaces.timers.push(Timer {
                    id: id.clone(),
                    org_id: workflow.org_id.clone(),
                    owner: owner.clone(),
                    next_at: schedule.next_after(now, now)?,
                    schedule: schedule.clone(),
                    active: true,
                }),
                Trigger::Source { id, event_name } => subscriptions.push(Subscription {
                    id: SubscriptionId::generate(&self.0.ids),
                    org_id: workflow.org_id.clone(),
                    emitter_id: id.to_string(),
                    listener_id: workflow.id.to_string(),
                    event_name: event_name.clone(),
                    from_trigger: true,
                    created_at: now,
                }),
            }
        }
        let limits = content.settings.limits();
        let deployment = Deployment {
            id: DeploymentId::generate(&self.0.ids),
            org_id: workflow.org_id.clone(),
            workflow_id: workflow.id.clone(),
            version: 0,
            content,
            made_by: Some(caller.user_id.clone().into()),
            message,
            created_at: now,
        };
        Ok(NewDeployment { deployment, active: true, interfaces, subscriptions, limits })
    }

    pub(super) async fn make_live(&self, new: NewDeployment) -> Result<Deployment, EngineError> {
        let mut deployment = new.deployment.clone();
        deployment.version = self.0.store.deploy_workflow(new).await?;
        self.forget_owner(deployment.workflow_id.as_str());
        self.0.tasks.wake(Task::Scheduler);
        deployment.content.steps.iter_mut().for_each(|s| hide_sealed(&mut s.props));
        if let Some(by) = &mut deployment.made_by {
            by.name = self.0.store.user(&by.id).await?.map(|user| user.username);
        }
        Ok(deployment)
    }
}

/// Tags as they are kept: each once, without blanks around them. None has a comma, by which people
/// part them.
pub(super) fn checked_tags(given: &[String]) -> Result<Vec<String>, EngineError> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let tag = tag.trim();
        if tag.is_empty()
            || tag.chars().count() > TAG_CHARS_MAX
            || tag.chars().any(|c| c.is_control() || c == ',')
        {
            let shown = millrace_model::shown(tag);
            return Err(EngineError::invalid(
                "tags",
                format!(
                    "`{shown}` is not a tag; one has 1 to {TAG_CHARS_MAX} characters on one line, without commas"
                ),
            ));
        }
        if !tags.iter().any(|kept| kept == tag) {
            tags.push(tag.to_owned());
        }
    }
    if tags.len() > TAGS_MAX {
        return Err(EngineError::invalid(
            "tags",
            format!("a workflow has at most {TAGS_MAX} tags; {} were given", tags.len()),
        ));
    }
    Ok(tags)
}

pub(crate) fn checked_message(message: Option<String>) -> Result<Option<String>, EngineError> {
    let message =
        message.map(|message| message.trim().to_owned()).filter(|message| !message.is_empty());
    let fits = |message: &String| {
        message.chars().count() <= MESSAGE_MAX
            && !message.chars().any(|c| c.is_control() && c != '\n')
    };
    if message.as_ref().is_none_or(fits) {
        return Ok(message);
    }
    Err(EngineError::invalid(
        "message",
        format!(
            "`message` has at most {MESSAGE_MAX} characters, no control characters among them but ends of lines"
        ),
    ))
}
