//! Code and its origin.

use async_trait::async_trait;
use millrace_model::component::{Artifact, SavedComponent};
use millrace_model::ids::{ComponentId, OrgId, RegistryId};
use millrace_model::page::{Listing, Page};
use millrace_model::registry::{
    FailedUpdate, Registry, RegistryComponent, RegistryFile, Unindexed,
};
use millrace_store::{Components, FoundComponent, NewRegistry, StoreResult};
use rusqlite::params;

use crate::rows::{many, one};
use crate::{SqliteStore, components, registries, rows};

#[async_trait]
impl Components for SqliteStore {
    async fn put_artifact(&self, artifact: Artifact) -> StoreResult<()> {
        self.db.write(move |c| components::put_artifact(c, &artifact)).await
    }
    async fn artifact(&self, id: &str) -> StoreResult<Option<Artifact>> {
        let id = id.to_owned();
        self.db
            .read(move |c| one(c, "SELECT * FROM artifacts WHERE id = ?1", [id], rows::artifact))
            .await
    }
    async fn create_component(&self, component: SavedComponent) -> StoreResult<()> {
        self.db.write(move |c| components::create(c, &component)).await
    }
    async fn component(
        &self,
        org: &OrgId,
        id: &ComponentId,
    ) -> StoreResult<Option<SavedComponent>> {
        by_id!(self, "components", org, id, rows::component)
    }
    async fn component_by_hash(
        &self,
        org: &OrgId,
        code_hash: &str,
        artifact: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>> {
        let (org, hash, artifact) =
            (org.to_string(), code_hash.to_owned(), artifact.map(str::to_owned));
        let sql = "SELECT * FROM components WHERE org_id = ?1 AND code_hash = ?2 AND (?3 IS NULL OR artifact_id = ?3) ORDER BY created_at DESC, id DESC LIMIT 1";
        self.db.read(move |c| one(c, sql, params![org, hash, artifact], rows::component)).await
    }
    async fn component_by_key(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>> {
        let (org, key, version) = (org.to_string(), key.to_owned(), version.map(str::to_owned));
        let sql = "SELECT * FROM components WHERE org_id = ?1 AND key = ?2 AND (published = 1 OR superseded = 1)
                     AND CASE WHEN ?3 IS NULL THEN published = 1 ELSE manifest ->> '$.version' = ?3 END
                   ORDER BY published DESC, created_at DESC, id DESC LIMIT 1";
        self.db.read(move |c| one(c, sql, params![org, key, version], rows::component)).await
    }
    async fn newest_component_of_key(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>> {
        let (org, key, version) = (org.to_string(), key.to_owned(), version.map(str::to_owned));
        let sql = "SELECT * FROM components WHERE org_id = ?1 AND key = ?2 AND (?3 IS NULL OR manifest ->> '$.version' = ?3)
                   ORDER BY created_at DESC, id DESC LIMIT 1";
        self.db.read(move |c| one(c, sql, params![org, key, version], rows::component)).await
    }
    async fn list_components(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<SavedComponent>> {
        let (org, page) = (org.clone(), page.clone());
        self.db.read(move |c| components::published(c, &org, &page)).await
    }
    async fn unpublish_component(&self, org: &OrgId, key: &str) -> StoreResult<()> {
        let (org, key) = (org.clone(), key.to_owned());
        self.db.write(move |c| components::unpublish(c, &org, &key)).await
    }

    async fn put_registry(&self, registry: NewRegistry) -> StoreResult<Registry> {
        self.db.write(move |c| registries::put(c, &registry)).await
    }
    async fn registries(&self, org: &OrgId) -> StoreResult<Vec<Registry>> {
        let org = org.to_string();
        let sql = format!(
            "{} WHERE r.org_id = ?1 ORDER BY r.created_at, r.id LIMIT 1000",
            rows::REGISTRIES
        );
        self.db.read(move |c| many(c, &sql, [org], rows::registry)).await
    }
    async fn registry_unindexed(&self, id: &RegistryId) -> StoreResult<Vec<Unindexed>> {
        let id = id.clone();
        self.db.read(move |c| registries::unindexed(c, &id)).await
    }
    async fn registry_update_failed(
        &self,
        org: &OrgId,
        name: &str,
        failed: FailedUpdate,
    ) -> StoreResult<()> {
        let (org, name) = (org.clone(), name.to_owned());
        self.db.write(move |c| registries::update_failed(c, &org, &name, &failed)).await
    }
    async fn delete_registry(&self, org: &OrgId, name: &str) -> StoreResult<bool> {
        let (org, name) = (org.clone(), name.to_owned());
        self.db.write(move |c| registries::delete(c, &org, &name)).await
    }
    async fn registry_components(&self, id: &RegistryId) -> StoreResult<Vec<RegistryComponent>> {
        let (id, sql) = (
            id.to_string(),
            "SELECT * FROM registry_components WHERE registry_id = ?1 AND until IS NULL ORDER BY path LIMIT 100000",
        );
        self.db.read(move |c| many(c, sql, [id], rows::registry_component)).await
    }
    async fn registry_component(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<FoundComponent>> {
        let (org, key, version) = (org.clone(), key.to_owned(), version.map(str::to_owned));
        self.db.read(move |c| registries::find(c, &org, &key, version.as_deref())).await
    }
    async fn registry_versions(&self, org: &OrgId, key: &str) -> StoreResult<Vec<String>> {
        let (org, key) = (org.clone(), key.to_owned());
        self.db.read(move |c| registries::versions(c, &org, &key)).await
    }
    async fn registry_files(
        &self,
        id: &RegistryId,
        app: &str,
        generation: i64,
    ) -> StoreResult<Vec<RegistryFile>> {
        let (id, app) = (id.clone(), app.to_owned());
        self.db.read(move |c| registries::files(c, &id, &app, generation)).await
    }
}
