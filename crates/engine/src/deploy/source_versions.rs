//! Versions of sources: their list, each by itself, rollback, and the comparison of two.

use millrace_model::ids::{DeploymentId, SourceId};
use millrace_model::page::{Listing, Page};
use millrace_model::record_tag::RecordTag;
use millrace_model::source::{Source, SourceDeployment, SourceSettings};
use millrace_model::tenant::Caller;

use crate::deploy::components::CodeRef;
use crate::deploy::updates::UpdateSource;
use crate::observe::views::SourceDeploymentView;
use crate::run::program::Program;
use crate::tenants::secrets::{hide_sealed, sealed_names};
use crate::{Engine, EngineError};

impl Engine {
    /// Makes what an earlier deployment of a source holds live again, as a new one: code, props and
    /// settings; its name, and whether it is active, stay.
    pub async fn rollback_source(
        &self,
        caller: &Caller,
        id: &SourceId,
        to: &DeploymentId,
        message: Option<String>,
        over: Option<Vec<RecordTag>>,
    ) -> Result<SourceDeploymentView, EngineError> {
        let earlier = self.owned_source_deployment(caller, id, to).await?;
        let message = message.or_else(|| Some(format!("Back to version {}", earlier.version)));
        let update = UpdateSource {
            code: Some(CodeRef::Component(earlier.content.component_id.clone())),
            message,
            over,
            ..UpdateSource::default()
        };
        let (_, made) = self.change_source(caller, id, update, Some(&earlier.content)).await?;
        let made = made.ok_or_else(|| {
            EngineError::internal("a rollback made no deployment", id.to_string())
        })?;
        self.show_source_deployment(caller, made).await
    }

    /// Deployments of a source, newest first; the newest is live.
    pub async fn list_source_deployments(
        &self,
        caller: &Caller,
        id: &SourceId,
        page: &Page,
    ) -> Result<Listing<SourceDeployment>, EngineError> {
        self.owned_source(caller, id).await?;
        let mut listing = self.0.store.list_source_deployments(&caller.org_id, id, page).await?;
        listing
            .items
            .iter_mut()
            .for_each(|deployment| hide_sealed(&mut deployment.content.configured_props));
        Ok(listing)
    }

    /// A deployment of a source with its code.
    pub async fn source_deployment(
        &self,
        caller: &Caller,
        id: &SourceId,
        deployment: &DeploymentId,
    ) -> Result<SourceDeploymentView, EngineError> {
        self.show_source_deployment(
            caller,
            self.owned_source_deployment(caller, id, deployment).await?,
        )
        .await
    }

    async fn owned_source_deployment(
        &self,
        caller: &Caller,
        id: &SourceId,
        deployment: &DeploymentId,
    ) -> Result<SourceDeployment, EngineError> {
        self.owned_source(caller, id).await?;
        let found = self
            .0
            .store
            .source_deployment(&caller.org_id, deployment)
            .await?
            .filter(|d| d.source_id == *id);
        found.ok_or_else(|| EngineError::not_found("deployment", deployment))
    }

    async fn show_source_deployment(
        &self,
        caller: &Caller,
        mut deployment: SourceDeployment,
    ) -> Result<SourceDeploymentView, EngineError> {
        let component =
            self.0.store.component(&caller.org_id, &deployment.content.component_id).await?;
        let component = component.ok_or_else(|| {
            EngineError::internal("a deployment's component is missing", deployment.id.to_string())
        })?;
        let sealed = sealed_names(&deployment.content.configured_props);
        hide_sealed(&mut deployment.content.configured_props);
        Ok(SourceDeploymentView { deployment, component, sealed })
    }

    /// A deployment of what a source is now; the store gives it its number.
    pub(super) fn new_source_deployment(
        &self,
        caller: &Caller,
        source: &Source,
        message: Option<String>,
    ) -> SourceDeployment {
        SourceDeployment {
            id: DeploymentId::generate(&self.0.ids),
            org_id: source.org_id.clone(),
            source_id: source.id.clone(),
            version: 0,
            content: source.content(),
            made_by: Some(caller.user_id.clone().into()),
            message,
            created_at: source.updated_at,
        }
    }

    /// Whether a change of a source, whose program before it is `before`, makes a version.
    pub(super) fn makes_version(
        &self,
        before: Option<&Program>,
        old: &Source,
        new: &Source,
    ) -> bool {
        // A server that ended while it activated another version left that in the record alone.
        let is_in_record_alone = before.is_some_and(|p| p.identity().deployment_id.is_none());
        is_in_record_alone || self.is_another_version(old, new)
    }

    /// Whether two states of a source are different versions. Secrets are sealed anew each time, so
    /// that they are compared opened. Settings are compared by their effect: a setting that names
    /// its default equals a setting that is left out.
    pub(crate) fn is_another_version(&self, old: &Source, new: &Source) -> bool {
        let opened = |source: &Source| {
            let mut content = source.content();
            content.settings = SourceSettings {
                calls_per_isolate: Some(source.settings.calls_per_isolate.unwrap_or(1)),
                concurrency: source.limits.as_ref().and_then(|limits| limits.concurrency),
            };
            self.0
                .keyring
                .open_props(source.id.as_str(), &mut content.configured_props)
                .ok()
                .map(|()| content)
        };
        let (old, new) = (opened(old), opened(new));
        old.is_none() || old != new
    }
}
