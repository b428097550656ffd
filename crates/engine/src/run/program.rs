//! Programs of sources and workflows: all that a call needs, prepared once for each version.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::component::{Artifact, Hook, Manifest, SavedComponent};
use millrace_model::dedupe::Strategy;
use millrace_model::error_event::ErrorBody;
use millrace_model::ids::{DeploymentId, OrgId, ProjectId};
use millrace_model::limits::RunLimits;
use millrace_model::props::Site;
use millrace_model::source::{Owner, Source};
use millrace_model::tenant::Caller;
use millrace_model::workflow::{Settings, Trigger, Workflow, WorkflowVersion};
use millrace_runner::{IsolateSpec, ModuleSpec};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::accept::endpoint_auth::Authorization;
use crate::run::allowed_settings::within;
use crate::run::damaged::DamagedProgram;
use crate::run::inputs::{Inputs, dynamic_of};
use crate::run::installed::Installed;
use crate::run::store_grants::StoreGrants;
use crate::tenants::account_props::{AccountUse, names_account};
use crate::tenants::secrets::sha256_hex;
use crate::{Engine, EngineError};

/// Runs of one source that may wait in the queue.
const SOURCE_QUEUE_MAX: u32 = 10_000;
/// Isolates, each with one run at a time, that one source or version of a workflow may have.
pub(crate) const ISOLATES_MAX: u32 = 96;

/// What was built for a version and is stored with it.
pub(crate) type BuiltSteps = Vec<(SavedComponent, Artifact)>;

/// What an owner runs.
pub(crate) enum Program {
    Source(Box<SourceProgram>),
    Workflow(Box<WorkflowProgram>),
    /// Stored, and cannot be prepared: each of its runs fails with the reason.
    Damaged(Box<DamagedProgram>),
}

pub(crate) struct SourceProgram {
    /// As it was when its version was deployed.
    pub(crate) source: Source,
    pub(crate) manifest: Manifest,
    pub(crate) strategy: Option<Strategy>,
    /// Values by prop name as the host gets them.
    pub(crate) props: Inputs,
    /// Definitions that `additionalProps` gave, JSON text of a list.
    pub(crate) dynamic_props: String,
    /// The data stores that it may use.
    pub(crate) stores: StoreGrants,
    pub(crate) isolate: Arc<IsolateSpec>,
    pub(super) installed: Installed,
    /// Whether it has a `$.service.db`.
    pub(crate) has_db: bool,
    pub(super) owner: Owner,
}

pub(crate) struct WorkflowProgram {
    pub(crate) workflow: Workflow,
    pub(crate) settings: Settings,
    pub(crate) isolate: Arc<IsolateSpec>,
    pub(super) installed: Installed,
    /// Steps as the host gets them.
    pub(crate) steps: Inputs,
    /// The data stores that its steps may use.
    pub(crate) stores: StoreGrants,
    /// Names of the steps that are not disabled, in order.
    pub(crate) namespaces: Vec<String>,
    /// Who may call its endpoints, by their ids; the others may be called by anybody.
    pub(crate) authorizations: Vec<(String, Authorization)>,
    /// Whether its code may answer requests, though nobody says so.
    pub(crate) may_respond: bool,
    /// Ids of steps by namespace.
    pub(crate) step_ids: BTreeMap<String, String>,
    /// Keys of steps' components by namespace, of those that have one.
    pub(crate) component_keys: BTreeMap<String, String>,
    deployment_id: Option<DeploymentId>,
    owner: Owner,
}

/// Whose a program is.
pub(crate) struct Identity<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) org_id: &'a OrgId,
    pub(crate) project_id: Option<&'a ProjectId>,
    pub(crate) name: &'a str,
    pub(crate) deployment_id: Option<&'a DeploymentId>,
    pub(crate) active: bool,
}

impl Program {
    /// The data stores that its calls may use.
    pub(crate) fn stores(&self) -> &StoreGrants {
        match self {
            Self::Source(p) => &p.stores,
            Self::Workflow(p) => &p.stores,
            Self::Damaged(p) => &p.stores,
        }
    }

    /// What holds its runs back in the queue; None: they start where they are accepted.
    pub(crate) fn limits(&self) -> Option<RunLimits> {
        match self {
            Self::Source(p) => p.source.limits.clone(),
            Self::Workflow(p) => p.settings.limits(),
            Self::Damaged(_) => None,
        }
    }

    /// Runs that may wait in the queue.
    pub(crate) fn queue_max(&self) -> u32 {
        match self {
            Self::Source(_) | Self::Damaged(_) => SOURCE_QUEUE_MAX,
            Self::Workflow(p) => p.settings.queue_max.unwrap_or(u32::MAX),
        }
    }

    /// Whether nothing of its runs is kept.
    pub(crate) fn keeps_nothing(&self) -> bool {
        match self {
            Self::Source(_) => false,
            Self::Workflow(p) => !p.settings.keep_data,
            Self::Damaged(p) => p.keeps_nothing,
        }
    }

    /// The namespace of the step that an error struck; empty for a source, and where none was.
    pub(crate) fn step_of(&self, error: &ErrorBody) -> &str {
        match self {
            Self::Workflow(p) => p
                .step_ids
                .iter()
                .find(|(_, id)| **id == error.cell_id)
                .map_or("", |(namespace, _)| namespace.as_str()),
            Self::Source(_) | Self::Damaged(_) => "",
        }
    }

    pub(crate) fn identity(&self) -> Identity<'_> {
        match self {
            Self::Source(p) => Identity {
                owner: &p.owner,
                org_id: &p.source.org_id,
                project_id: None,
                name: &p.source.name,
                deployment_id: p.source.deployment_id.as_ref(),
                active: p.source.active,
            },
            Self::Workflow(p) => Identity {
                owner: &p.owner,
                org_id: &p.workflow.org_id,
                project_id: Some(&p.workflow.project_id),
                name: &p.workflow.name,
                deployment_id: p.deployment_id.as_ref(),
                active: p.workflow.active,
            },
            Self::Damaged(p) => Identity {
                owner: &p.owner,
                org_id: &p.org_id,
                project_id: p.project_id.as_ref(),
                name: &p.name,
                deployment_id: None,
                active: p.active,
            },
        }
    }
}

impl WorkflowProgram {
    /// The wall-clock limit of a run (reference 4).
    pub(crate) fn timeout(&self, http: bool) -> Duration {
        self.settings
            .timeout_ms
            .map_or(Duration::from_secs(if http { 30 } else { 60 }), Duration::from_millis)
    }
}

impl SourceProgram {
    pub(crate) fn has_hook(&self, hook: Hook) -> bool {
        self.manifest.hooks.contains(&hook)
    }
}

impl Engine {
    /// The program of an owner: its live version, or that of a deployment. None where it is gone.
    pub(crate) async fn program(
        &self,
        org: &OrgId,
        owner: &Owner,
        deployment: Option<&DeploymentId>,
    ) -> Result<Option<Arc<Program>>, EngineError> {
        let key = deployment.map_or_else(|| owner.as_str(), DeploymentId::as_str);
        if let Some(program) = self.0.programs.get(key) {
            // Ids are looked up by code too, which may name any: what another organization runs is
            // not there for this one.
            return Ok(Some(program).filter(|program| program.identity().org_id == org));
        }
        // Boxed, as all that few runs need: the future of a run is as large as what it may await,
        // and is copied for each run.
        Box::pin(self.load_program(org, owner, deployment)).await
    }

    async fn load_program(
        &self,
        org: &OrgId,
        owner: &Owner,
        deployment: Option<&DeploymentId>,
    ) -> Result<Option<Arc<Program>>, EngineError> {
        let key = deployment.map_or_else(|| owner.as_str(), DeploymentId::as_str);
        let read_at = self.0.cache.generation();
        let program = match owner {
            Owner::Source(id) => match self.0.store.source(org, id).await? {
                Some(source) => match deployment {
                    Some(version) => self.source_version(source, version).await?,
                    None => Some(self.source_program(source).await?),
                },
                None => None,
            },
            Owner::Workflow(id) => match self.0.store.workflow(org, id).await? {
                Some(workflow) => self.workflow_program(workflow, deployment).await?,
                None => None,
            },
        };
        let Some(program) = program.map(Arc::new) else { return Ok(None) };
        self.0.programs.put(read_at, key.to_owned(), program.clone());
        Ok(Some(program))
    }

    /// What the `$.service.db` of a source holds, where it has one.
    pub(crate) async fn db_of(
        &self,
        source: &SourceProgram,
    ) -> Result<Option<Box<RawValue>>, EngineError> {
        if source.has_db { self.service_db(&source.source.id).await.map(Some) } else { Ok(None) }
    }

    async fn workflow_program(
        &self,
        workflow: Workflow,
        deployment: Option<&DeploymentId>,
    ) -> Result<Option<Program>, EngineError> {
        let Some(id) = deployment.or(workflow.deployment_id.as_ref()).cloned() else {
            return Ok(None);
        };
        let Some(deployment) = self.0.store.deployment(&workflow.org_id, &id).await? else {
            return Ok(None);
        };
        self.prepare_workflow(workflow, &deployment.content, Some(id), &BuiltSteps::new())
            .await
            .map(Some)
    }

    /// Prepares a version; `deployment_id` None: one that is tested. `built`: code of it that is
    /// not stored.
    pub(crate) async fn prepare_workflow(
        &self,
        workflow: Workflow,
        version: &WorkflowVersion,
        deployment_id: Option<DeploymentId>,
        built: &BuiltSteps,
    ) -> Result<Program, EngineError> {
        let mut modules: Vec<ModuleSpec> = Vec::new();
        let (mut steps, mut accounts, mut stores) =
            (Vec::new(), Vec::new(), StoreGrants::default());
        for (at, step) in version.steps.iter().enumerate() {
            if modules.iter().all(|m| m.name != step.artifact_id) {
                modules.push(
                    match built.iter().find(|(_, artifact)| artifact.id == step.artifact_id) {
                        Some((_, artifact)) => self.module(&step.artifact_id, artifact).await?,
                        None => self.stored_module(&step.artifact_id, &step.artifact_id).await?,
                    },
                );
            }
            let mut props = step.props.clone();
            self.0.keyring.open_props(workflow.id.as_str(), &mut props)?;
            let needs_manifest =
                step.props.values().any(names_account) || StoreGrants::may_name(&step.props);
            let manifest = match needs_manifest || step.dynamic_props.is_some() {
                true => match built.iter().find(|(component, _)| component.id == step.component_id)
                {
                    Some((component, _)) => component.manifest.clone(),
                    None => self
                        .0
                        .store
                        .component(&workflow.org_id, &step.component_id)
                        .await?
                        .map(|c| c.manifest)
                        .unwrap_or_default(),
                },
                false => Manifest::default(),
            };
            let defs = step.dynamic_props.as_deref().unwrap_or(&manifest.props);
            accounts.extend(AccountUse::of(Some(at), defs, &props));
            stores.add(defs, &step.props, Site::Step);
            let dynamic_props = dynamic_of(&manifest.props, step.dynamic_props.as_deref());
            steps.push(
                json!({ "namespace": step.namespace, "module": step.artifact_id, "props": props, "dynamic_props": dynamic_props, "disabled": step.disabled }),
            );
        }
        let settings = within(&version.settings, &self.0.config);
        let version_key = deployment_id.as_ref().map_or_else(
            || format!("{}:draft:{}", workflow.id, self.0.ids.base62(8)),
            ToString::to_string,
        );
        let isolate = Arc::new(IsolateSpec {
            id: version_key,
            organization: workflow.org_id.to_string(),
            modules,
            env: BTreeMap::from([("PIPEDREAM_WORKFLOW_ID".to_owned(), workflow.id.to_string())]),
            memory_mb: settings.memory_mb,
            calls_per_isolate: settings.calls_per_isolate.unwrap_or(1),
            isolates_max: ISOLATES_MAX,
            in_order: false,
        });
        let owner = Owner::Workflow(workflow.id.clone());
        Ok(Program::Workflow(Box::new(WorkflowProgram {
            settings,
            isolate,
            installed: Installed::default(),
            steps: Inputs::new(Value::Array(steps), accounts),
            stores,
            authorizations: self.authorizations(&workflow.id, &version.triggers)?,
            may_respond: version
                .triggers
                .iter()
                .any(|trigger| matches!(trigger, Trigger::Http { may_respond: true, .. })),
            namespaces: version
                .steps
                .iter()
                .filter(|s| !s.disabled)
                .map(|s| s.namespace.clone())
                .collect(),
            step_ids: version
                .steps
                .iter()
                .map(|s| (s.namespace.clone(), s.id.to_string()))
                .collect(),
            component_keys: version
                .steps
                .iter()
                .filter_map(|s| Some((s.namespace.clone(), s.component_key.clone()?)))
                .collect(),
            workflow,
            deployment_id,
            owner,
        })))
    }
}

/// For whom an isolate stays alive between calls: the key, and the external user where one is
/// named, of whom nothing is to meet the accounts of another.
pub(crate) fn isolate_owner(caller: &Caller) -> String {
    match &caller.external_user_id {
        Some(user) => format!("{}:{}", caller.key_id, sha256_hex(user.as_bytes())),
        None => caller.key_id.to_string(),
    }
}
