//! Code and its origin.

use async_trait::async_trait;
use millrace_model::component::{Artifact, SavedComponent};
use millrace_model::ids::{ComponentId, OrgId, RegistryId};
use millrace_model::page::{Listing, Page};
use millrace_model::registry::{
    FailedUpdate, Registry, RegistryComponent, RegistryFile, Unindexed,
};
use millrace_store::{Components, FoundComponent, NewRegistry, StoreResult};

use crate::db::{text, transaction};
use crate::rows::{many, one};
use crate::{PostgresStore, components, registries, rows};

/// The version that a manifest says. Postgres reads no JSON with an escaped U+0000: it is read as
/// [`text`] writes one, wherever in the manifest it is.
const VERSION: &str = "(replace(manifest, '\\u0000', '\\ufffd')::json ->> 'version')";

#[async_trait]
impl Components for PostgresStore {
    async fn put_artifact(&self, artifact: Artifact) -> StoreResult<()> {
        components::put_artifact(&self.db.client().await?, &artifact).await
    }
    async fn artifact(&self, id: &str) -> StoreResult<Option<Artifact>> {
        by_unique!(self, "artifacts", rows::ARTIFACT, "id", text(id), rows::artifact)
    }
    async fn create_component(&self, component: SavedComponent) -> StoreResult<()> {
        transaction!(self.db, |t| components::create(&t, &component))
    }
    async fn component(
        &self,
        org: &OrgId,
        id: &ComponentId,
    ) -> StoreResult<Option<SavedComponent>> {
        by_id!(self, "components", rows::COMPONENT, org, id, rows::component)
    }
    async fn component_by_hash(
        &self,
        org: &OrgId,
        code_hash: &str,
        artifact: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>> {
        let sql = format!(
            "SELECT {} FROM components WHERE org_id = $1 AND code_hash = $2 AND ($3::text IS NULL OR artifact_id = $3) ORDER BY created_at DESC, id DESC LIMIT 1",
            rows::COMPONENT
        );
        one(
            &self.db.client().await?,
            &sql,
            &[&org.as_str(), &text(code_hash), &artifact],
            rows::component,
        )
        .await
    }
    async fn component_by_key(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>> {
        let sql = format!(
            "SELECT {} FROM components WHERE org_id = $1 AND key = $2 AND (published OR superseded)
               AND CASE WHEN $3::text IS NULL THEN published ELSE {VERSION} = $3 END
             ORDER BY published DESC, created_at DESC, id DESC LIMIT 1",
            rows::COMPONENT
        );
        one(
            &self.db.client().await?,
            &sql,
            &[&org.as_str(), &text(key), &version.map(text)],
            rows::component,
        )
        .await
    }
    async fn newest_component_of_key(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>> {
        let sql = format!(
            "SELECT {} FROM components WHERE org_id = $1 AND key = $2 AND ($3::text IS NULL OR {VERSION} = $3)
             ORDER BY created_at DESC, id DESC LIMIT 1",
            rows::COMPONENT
        );
        one(
            &self.db.client().await?,
            &sql,
            &[&org.as_str(), &text(key), &version.map(text)],
            rows::component,
        )
        .await
    }
    async fn list_components(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<SavedComponent>> {
        components::published(&self.db.client().await?, org, page).await
    }
    async fn unpublish_component(&self, org: &OrgId, key: &str) -> StoreResult<()> {
        components::unpublish(&self.db.client().await?, org, key).await
    }

    async fn put_registry(&self, registry: NewRegistry) -> StoreResult<Registry> {
        transaction!(self.db, |t| registries::put(&t, &registry))
    }
    async fn registries(&self, org: &OrgId) -> StoreResult<Vec<Registry>> {
        let sql = format!(
            "SELECT {} FROM {} WHERE r.org_id = $1 ORDER BY r.created_at, r.id LIMIT 1000",
            rows::REGISTRY,
            rows::FROM_REGISTRIES
        );
        many(&self.db.client().await?, &sql, &[&org.as_str()], rows::registry).await
    }
    async fn registry_unindexed(&self, id: &RegistryId) -> StoreResult<Vec<Unindexed>> {
        registries::unindexed(&self.db.client().await?, id).await
    }
    async fn registry_update_failed(
        &self,
        org: &OrgId,
        name: &str,
        failed: FailedUpdate,
    ) -> StoreResult<()> {
        registries::update_failed(&self.db.client().await?, org, name, &failed).await
    }
    async fn delete_registry(&self, org: &OrgId, name: &str) -> StoreResult<bool> {
        transaction!(self.db, |t| registries::delete(&t, org, name))
    }
    async fn registry_components(&self, id: &RegistryId) -> StoreResult<Vec<RegistryComponent>> {
        let sql = format!(
            "SELECT {} FROM registry_components WHERE registry_id = $1 AND until IS NULL ORDER BY path LIMIT 100000",
            rows::REGISTRY_COMPONENT
        );
        many(&self.db.client().await?, &sql, &[&id.as_str()], rows::registry_component).await
    }
    async fn registry_component(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<FoundComponent>> {
        registries::find(&self.db.client().await?, org, key, version).await
    }
    async fn registry_versions(&self, org: &OrgId, key: &str) -> StoreResult<Vec<String>> {
        registries::versions(&self.db.client().await?, org, key).await
    }
    async fn registry_files(
        &self,
        id: &RegistryId,
        app: &str,
        generation: i64,
    ) -> StoreResult<Vec<RegistryFile>> {
        registries::files(&self.db.client().await?, id, app, generation).await
    }
}
