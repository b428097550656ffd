//! Code and its origin.

use async_trait::async_trait;
use millrace_model::component::{Artifact, SavedComponent};
use millrace_model::ids::{ComponentId, OrgId, RegistryId};
use millrace_model::page::{Listing, Page};
use millrace_model::registry::{
    FailedUpdate, FromRegistry, Registry, RegistryComponent, RegistryFile, Unindexed,
};

use crate::StoreResult;

/// A component of a registry, of the latest state of its tree or an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundComponent {
    /// The registry.
    pub registry: RegistryId,
    /// The state of the registry that has it.
    pub from: FromRegistry,
    /// The component.
    pub component: RegistryComponent,
    /// The last generation of the tree that has it; [`LATEST`] where that is the latest.
    pub generation: i64,
}

/// The latest generation of a registry's tree, whichever that is.
pub const LATEST: i64 = i64::MAX;

/// How many earlier generations of a registry's tree are kept.
pub const GENERATIONS_KEPT: i64 = 50;

/// A registry with all that is in it.
#[derive(Clone, Debug)]
pub struct NewRegistry {
    /// The record; its counts are those of the lists.
    pub registry: Registry,
    /// Its files.
    pub files: Vec<RegistryFile>,
    /// Its components.
    pub components: Vec<RegistryComponent>,
    /// What is kept of the files that are not in the index.
    pub unindexed: Vec<Unindexed>,
}

/// Code: artifacts, components, registries.
#[async_trait]
pub trait Components: Send + Sync + 'static {
    /// Stores an artifact; the same id again is no change.
    async fn put_artifact(&self, artifact: Artifact) -> StoreResult<()>;
    /// An artifact.
    async fn artifact(&self, id: &str) -> StoreResult<Option<Artifact>>;
    /// Stores a component; where `published`, an earlier published one with the same key loses its
    /// mark.
    async fn create_component(&self, component: SavedComponent) -> StoreResult<()>;
    /// A component of the organization.
    async fn component(&self, org: &OrgId, id: &ComponentId)
    -> StoreResult<Option<SavedComponent>>;
    /// The newest component whose code has that hash; with `artifact`, of those that were built to
    /// it.
    async fn component_by_hash(
        &self,
        org: &OrgId,
        code_hash: &str,
        artifact: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>>;
    /// The published component with that key; with `version`, the newest that was published with
    /// it, until the key is unpublished.
    async fn component_by_key(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>>;
    /// The newest component that was saved with this key and version (`None`: any), published or
    /// not, since the key was last taken away.
    async fn newest_component_of_key(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<SavedComponent>>;
    /// The published components, newest first.
    async fn list_components(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<SavedComponent>>;
    /// Takes the key from all that was saved with it, and the marks of what was published;
    /// `NotFound` if nothing is published with it.
    async fn unpublish_component(&self, org: &OrgId, key: &str) -> StoreResult<()>;

    /// Stores a registry with its files and components, or replaces the one of the same name: its
    /// id and `created_at` stay, files whose hash is the same stay unwritten, of the others the
    /// last [`GENERATIONS_KEPT`] states stay addressable. Gives it as stored.
    async fn put_registry(&self, registry: NewRegistry) -> StoreResult<Registry>;
    /// The registries, oldest first (at most 1,000).
    async fn registries(&self, org: &OrgId) -> StoreResult<Vec<Registry>>;
    /// What was kept of the files that the last update could not index, in their order.
    async fn registry_unindexed(&self, id: &RegistryId) -> StoreResult<Vec<Unindexed>>;
    /// Keeps an update that failed with the registry of that name, until one works; no change where
    /// there is none.
    async fn registry_update_failed(
        &self,
        org: &OrgId,
        name: &str,
        failed: FailedUpdate,
    ) -> StoreResult<()>;
    /// Removes a registry with its files and components; says whether there was one.
    async fn delete_registry(&self, org: &OrgId, name: &str) -> StoreResult<bool>;
    /// All components of a registry's latest state, by path (at most 100,000).
    async fn registry_components(&self, id: &RegistryId) -> StoreResult<Vec<RegistryComponent>>;
    /// The component with that key, of the oldest registry that has one. With `version`: that
    /// version, of the latest state that has it.
    async fn registry_component(
        &self,
        org: &OrgId,
        key: &str,
        version: Option<&str>,
    ) -> StoreResult<Option<FoundComponent>>;
    /// The versions of a key in all registries, the latest first, each once (at most 100).
    async fn registry_versions(&self, org: &OrgId, key: &str) -> StoreResult<Vec<String>>;
    /// The files of an app's folder in a generation, by path; an empty `app`: the files that are in
    /// none.
    async fn registry_files(
        &self,
        id: &RegistryId,
        app: &str,
        generation: i64,
    ) -> StoreResult<Vec<RegistryFile>>;
}
