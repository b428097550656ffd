//! Owners with stored data that cannot be read: their runs fail and say why, and no other owner's.

use std::sync::Arc;

use millrace_model::error_chain;
use millrace_model::ids::{DeploymentId, OrgId, ProjectId};
use millrace_model::source::Owner;

use crate::run::claimed_run::ClaimedRun;
use crate::run::program::Program;
use crate::run::store_grants::StoreGrants;
use crate::{Engine, EngineError};

/// As much of an owner as can be read.
pub(crate) struct DamagedProgram {
    /// Why, for its owner.
    pub(crate) why: String,
    pub(super) org_id: OrgId,
    pub(super) project_id: Option<ProjectId>,
    pub(super) owner: Owner,
    pub(super) name: String,
    pub(super) active: bool,
    pub(super) keeps_nothing: bool,
    pub(super) stores: StoreGrants,
}

impl EngineError {
    /// Whether it is of the whole server and may be over at the next try. All others are of what is
    /// stored of one owner, and come again.
    pub(crate) const fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::DatabaseUnavailable
                | Self::StorageFull
                | Self::Overloaded
                | Self::NoMemory
                | Self::NoProcess
                | Self::DeploysWaiting { .. }
                | Self::Internal { .. }
        )
    }
}

impl Engine {
    /// As [`Engine::program`], for events that somebody else caused: what is stored of this owner
    /// and cannot be read or made whole gives a program whose runs fail with that reason, so that
    /// it hurts neither the run that emitted nor a timer, replay or app event of others.
    pub(crate) async fn program_or_damaged(
        &self,
        org: &OrgId,
        owner: &Owner,
        deployment: Option<&DeploymentId>,
    ) -> Result<Option<Arc<Program>>, EngineError> {
        let loaded = self.program(org, owner, deployment).await;
        self.or_damaged(org, owner, loaded).await
    }

    /// The same for a run that is to be executed, with its packages installed. Those that are gone
    /// from the cache while their registry is away come back with it: such a run is tried again, as
    /// often as any.
    pub(crate) async fn program_of(
        &self,
        claimed: &ClaimedRun,
        known: Option<Arc<Program>>,
    ) -> Result<Option<Arc<Program>>, EngineError> {
        let mut loaded = match known {
            Some(program) => Ok(Some(program)),
            None => {
                self.program(&claimed.org_id, &claimed.owner, claimed.deployment_id.as_ref()).await
            }
        };
        if let Ok(Some(program)) = &loaded
            && let Err(error) = self.install(program).await
        {
            loaded = Err(error);
        }
        if matches!(loaded, Err(EngineError::Component { .. }))
            && claimed.attempt <= self.0.config.attempts_max
        {
            return loaded;
        }
        self.or_damaged(&claimed.org_id, &claimed.owner, loaded).await
    }

    async fn or_damaged(
        &self,
        org: &OrgId,
        owner: &Owner,
        loaded: Result<Option<Arc<Program>>, EngineError>,
    ) -> Result<Option<Arc<Program>>, EngineError> {
        match loaded {
            Err(error) if !error.is_of_server() => {
                tracing::warn!(
                    owner.id = owner.as_str(),
                    error = error_chain(&error),
                    "what is stored of this owner cannot be read: its runs fail"
                );
                Ok(Some(Box::pin(self.damaged_program(org, owner, error.to_string())).await))
            }
            other => other,
        }
    }

    /// As much of an owner as can be read; its runs fail with `why`. What cannot be read counts as
    /// active; of its events nothing is kept where its settings may forbid that.
    pub(super) async fn damaged_program(
        &self,
        org: &OrgId,
        owner: &Owner,
        why: String,
    ) -> Arc<Program> {
        let mut program = DamagedProgram {
            why,
            org_id: org.clone(),
            project_id: None,
            owner: owner.clone(),
            name: owner.as_str().to_owned(),
            active: true,
            keeps_nothing: matches!(owner, Owner::Workflow(_)),
            stores: StoreGrants::default(),
        };
        match owner {
            Owner::Source(id) => {
                if let Ok(Some(source)) = self.0.store.source(org, id).await {
                    (program.name, program.active) = (source.name, source.active);
                }
            }
            Owner::Workflow(id) => {
                if let Ok(Some(workflow)) = self.0.store.workflow(org, id).await {
                    program.keeps_nothing = !workflow.draft.settings.keep_data;
                    (program.name, program.active, program.project_id) =
                        (workflow.name, workflow.active, Some(workflow.project_id));
                }
            }
        }
        Arc::new(Program::Damaged(Box::new(program)))
    }
}
