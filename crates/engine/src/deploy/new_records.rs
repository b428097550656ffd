//! New sources and workflows: stored under slugs of their own, one for each file that they are made
//! from.

use millrace_model::made_from::MadeFrom;
use millrace_model::slug::unique_slug;
use millrace_model::source::Source;
use millrace_model::workflow::Workflow;
use millrace_store::{Interfaces, StoreError};

use crate::deploy::components::base_slug;
use crate::deploy::marks::mark_taken;
use crate::deploy::requests::{StepRequest, TriggerRequest};
use crate::deploy::settings::SettingsRequest;
use crate::{Engine, EngineError};

/// A workflow to be made.
#[derive(Clone, Debug, Default)]
pub struct NewWorkflow {
    /// The project; the organization's own where none.
    pub project_id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Whether it is refused where its slug is taken, and does not get another one.
    pub unique_name: bool,
    /// What starts it.
    pub triggers: Vec<TriggerRequest>,
    /// What it does.
    pub steps: Vec<StepRequest>,
    /// Its settings.
    pub settings: SettingsRequest,
    /// Whether it is deployed at once.
    pub auto_deploy: bool,
    /// Whether it runs once it is deployed so; where it is not, it runs when it is made active.
    pub active: bool,
    /// The folder it is made from.
    pub made_from: Option<MadeFrom>,
    /// What its first deployment says of itself.
    pub message: Option<String>,
    /// What people say of it.
    pub note: Option<String>,
    /// By which people find it.
    pub tags: Vec<String>,
}

impl Engine {
    pub(super) async fn insert_source(
        &self,
        source: &mut Source,
        interfaces: &Interfaces,
    ) -> Result<(), EngineError> {
        let base = base_slug(&source.name);
        // Another deploy may take the slug between the look and the insert.
        for _ in 0..5 {
            let taken = self.0.store.source_slugs(&source.org_id, &base).await?;
            source.name_slug = unique_slug(&base, |slug| taken.iter().any(|t| t == slug));
            match self.0.store.create_source(source.clone(), interfaces.clone()).await {
                Err(StoreError::Taken("made_from")) => return Err(mark_taken("source")),
                Err(StoreError::Taken(_)) => {}
                other => return Ok(other?),
            }
        }
        Err(EngineError::taken(
            "name",
            format!("the name `{}` is being taken by others; try again", source.name),
        ))
    }

    pub(super) async fn insert_workflow(
        &self,
        workflow: &mut Workflow,
        unique_name: bool,
    ) -> Result<(), EngineError> {
        let base = base_slug(&workflow.name);
        for _ in 0..5 {
            let taken = self.0.store.workflow_slugs(&workflow.org_id, &base).await?;
            workflow.name_slug =
                unique_slug(&base, |slug| !unique_name && taken.iter().any(|t| t == slug));
            match self.0.store.create_workflow(workflow.clone()).await {
                Err(StoreError::Taken("made_from")) => return Err(mark_taken("workflow")),
                Err(StoreError::Taken(_)) if unique_name => {
                    return Err(EngineError::taken(
                        "name",
                        format!("there is a workflow `{base}` already"),
                    ));
                }
                Err(StoreError::Taken(_)) => {}
                other => return Ok(other?),
            }
        }
        Err(EngineError::taken(
            "name",
            format!("the name `{}` is being taken by others; try again", workflow.name),
        ))
    }
}
