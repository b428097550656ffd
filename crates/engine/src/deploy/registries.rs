//! Registries: trees of components that an organization uploaded, from which components are
//! deployed by key.
//!
//! The server never reads a folder or an address of its own for a registry: everyone who may use
//! the API could read it, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use millrace_bundle::{BundleError, Bundler, Unindexed, unpack_tree};
use millrace_fair::{Class, FairSemaphore, Policy, Rejected};
use millrace_model::component::{KEY_BYTES_MAX, Manifest};
use millrace_model::error_chain;
use millrace_model::ids::{OrgId, RegistryId};
use millrace_model::registry::{
    FailedUpdate, FromRegistry, Registry, RegistryComponent, RegistryFile, app_of, apps_mentioned,
    kept_reason, kept_unindexed,
};
use millrace_model::tenant::Caller;
use millrace_store::{FoundComponent, NewRegistry};

use crate::bundle_error::bundle_error;
use crate::checks::key_and_version;
use crate::ctx::Ctx;
use crate::deploy::search_index::SearchIndexes;
use crate::tenants::apps::Apps;
use crate::tenants::secrets::sha256_hex;
use crate::{CodeRef, EngineError, ErrorKind};

/// The most characters of a name and of an origin.
const NAME_MAX: usize = 100;
const ORIGIN_MAX: usize = 1_000;
/// Files of a component's app and of the apps that it imports, together; what bundling takes.
const FILES_BYTES_MAX: usize = 8 << 20;
/// Versions that an error names.
const VERSIONS_NAMED: usize = 10;
/// Archives that are taken at once: of each the server has all files in memory, until they are
/// stored.
const UPLOADS: Policy = Policy::one_at_a_time(2);
/// Of one organization, one at a time; these may wait, with their archives.
const UPLOADS_OF_ONE: Class = Class::of_tenant(1, 4);

/// A tree to be added, or to replace an earlier one.
#[derive(Clone, Debug)]
pub struct RegistryUpload {
    /// Its name.
    pub name: String,
    /// Where it came from, for people and for updates.
    pub origin: String,
    /// Its revision there; empty where it has none.
    pub revision: String,
    /// A `.tar.gz` of its files.
    pub archive: bytes::Bytes,
    /// Whether a registry of that name must not be there yet (true) or must be (false).
    pub is_new: bool,
}

/// A registry as stored, and what of it is not in the index.
#[derive(Clone, Debug)]
pub struct RegistryView {
    /// The registry.
    pub registry: Registry,
    /// What is kept of the files that should be components and could not be read as one.
    pub unindexed: Vec<Unindexed>,
    /// How many files of components were read anew: the others are as they were when the registry
    /// was indexed last.
    pub read: usize,
}

/// A component of a registry, not built.
#[derive(Clone, Debug)]
pub struct RegistryEntry {
    /// What the index knows.
    pub component: RegistryComponent,
    /// The registry, and the state of it that has the component.
    pub from: FromRegistry,
    /// The entry's text.
    pub code: String,
    /// What its code says without running it: props may be missing that only running code knows.
    pub manifest: Manifest,
    /// Its versions that can be named, the latest first.
    pub versions: Vec<String>,
}

/// Registries of all organizations.
pub struct Registries {
    pub(super) ctx: Arc<Ctx>,
    bundler: Bundler,
    pub(super) apps: Arc<Apps>,
    pub(super) indexes: SearchIndexes,
    /// Slots for archives.
    uploads: FairSemaphore<OrgId>,
}

impl Registries {
    pub(crate) fn new(ctx: Arc<Ctx>, bundler: Bundler, apps: Arc<Apps>) -> Self {
        let uploads = FairSemaphore::new(UPLOADS);
        Self { ctx, bundler, apps, indexes: SearchIndexes::default(), uploads }
    }

    /// Adds or replaces a registry: reads the archive, indexes it in a process of its own, stores
    /// all of it or nothing. Of a refused update the registry keeps the reason.
    pub async fn put(
        &self,
        caller: &Caller,
        upload: RegistryUpload,
    ) -> Result<RegistryView, EngineError> {
        let RegistryUpload { name, origin, revision, is_new, .. } = &upload;
        check_name(name)?;
        if origin.len() > ORIGIN_MAX || revision.len() > NAME_MAX {
            return Err(EngineError::invalid(
                "origin",
                format!("`origin` takes at most {ORIGIN_MAX} bytes, `revision` {NAME_MAX}"),
            ));
        }
        let (name, is_new) = (name.clone(), *is_new);
        let exists =
            self.ctx.store.registries(&caller.org_id).await?.iter().any(|r| r.name == name);
        if is_new && exists {
            let message = format!(
                "there is a registry `{name}`; update it, or add this one under another name"
            );
            return Err(EngineError::Taken { code: "registry_exists", field: "name", message });
        }
        if !is_new && !exists {
            return Err(EngineError::not_found("registry", name));
        }
        let put = self.put_tree(caller, upload).await;
        if let Err(error) = &put
            && !is_new
            && error.kind() == ErrorKind::Invalid
        {
            self.keep_failure(&caller.org_id, &name, error).await;
        }
        put
    }

    /// Keeps the reason of a refused update. The caller gets it all the same where that fails.
    async fn keep_failure(&self, org: &OrgId, name: &str, error: &EngineError) {
        let failed = FailedUpdate { at: self.ctx.now(), message: kept_reason(&error.to_string()) };
        if let Err(error) = self.ctx.store.registry_update_failed(org, name, failed).await {
            tracing::warn!(
                registry = name,
                error = error_chain(&error),
                "could not store why an update of a registry was refused"
            );
        }
    }

    async fn put_tree(
        &self,
        caller: &Caller,
        upload: RegistryUpload,
    ) -> Result<RegistryView, EngineError> {
        let RegistryUpload { name, origin, revision, archive, .. } = upload;
        let waiting_max = UPLOADS_OF_ONE.waiting.tenant;
        let slot = self.uploads.acquire(caller.org_id.clone(), (), &UPLOADS_OF_ONE).await;
        let slot = slot.map_err(|Rejected| bundle_error(BundleError::Waiting { waiting_max }))?;
        let app = name.clone();
        // The slot goes along: what is unpacked for a client that went away is in memory, too.
        let (_slot, files) =
            tokio::task::spawn_blocking(move || (slot, unpack_tree(&archive, &app)))
                .await
                .map_err(|e| EngineError::internal("reading the archive broke down", e))?;
        let bundler = self.bundler.of(caller.org_id.as_str());
        let (index, files) = bundler
            .index(&tree_of(&caller.org_id, &name), files.map_err(bundle_error)?)
            .await
            .map_err(bundle_error)?;
        let components: Vec<_> =
            index.entries.into_iter().filter(|c| c.key.len() <= KEY_BYTES_MAX).collect();
        if components.is_empty() {
            return Err(EngineError::invalid(
                "archive",
                match index.unindexed.first() {
                    None => "the archive holds no component with a `key`; lay it out as `components/<app>/sources/<slug>/<slug>.mjs` or `components/<app>/actions/<slug>/<slug>.mjs`".to_owned(),
                    Some(first) => format!(
                        "no file of the archive can be read as a component with a `key`, among them `{}`: {}",
                        first.path, first.reason
                    ),
                },
            ));
        }
        let hashed = move || {
            files
                .into_iter()
                .map(|(path, text)| RegistryFile { hash: sha256_hex(text.as_bytes()), path, text })
                .collect::<Vec<_>>()
        };
        let files = tokio::task::spawn_blocking(hashed)
            .await
            .map_err(|e| EngineError::internal("hashing the files broke down", e))?;
        let now = self.ctx.now();
        let count = |len: usize| i64::try_from(len).unwrap_or(i64::MAX);
        let registry = Registry {
            id: RegistryId::generate(&self.ctx.ids),
            org_id: caller.org_id.clone(),
            name,
            origin,
            revision,
            file_count: count(files.len()),
            component_count: count(components.len()),
            unindexed_count: Some(count(index.unindexed.len())),
            failed_update: None,
            created_at: now,
            updated_at: now,
        };
        let unindexed = kept_unindexed(&index.unindexed);
        let new = NewRegistry { registry, files, components, unindexed: unindexed.clone() };
        let registry = self.ctx.store.put_registry(new).await?;
        self.indexes.forget(&caller.org_id);
        Ok(RegistryView { registry, unindexed, read: index.read })
    }

    /// A registry by its name, with what is kept of the files that are not in its index.
    pub async fn get(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<(Registry, Vec<Unindexed>), EngineError> {
        let mut all = self.list(caller).await?;
        let at = all.iter().position(|registry| registry.name == name);
        let at = at.ok_or_else(|| EngineError::not_found("registry", name))?;
        let registry = all.swap_remove(at);
        let unindexed = self.ctx.store.registry_unindexed(&registry.id).await?;
        Ok((registry, unindexed))
    }

    /// The organization's registries, oldest first.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<Registry>, EngineError> {
        Ok(self.ctx.store.registries(&caller.org_id).await?)
    }

    /// Removes a registry. What was deployed from it goes on.
    pub async fn delete(&self, caller: &Caller, name: &str) -> Result<(), EngineError> {
        if !self.ctx.store.delete_registry(&caller.org_id, name).await? {
            return Err(EngineError::not_found("registry", name));
        }
        self.bundler.forget_index(&tree_of(&caller.org_id, name)).await;
        self.indexes.forget(&caller.org_id);
        Ok(())
    }

    /// A component of a registry by key, with `@version` behind it or without, not built.
    pub async fn entry(&self, caller: &Caller, name: &str) -> Result<RegistryEntry, EngineError> {
        let found = self
            .find(caller, name)
            .await?
            .ok_or_else(|| EngineError::not_found("component", name))?;
        let files = self.tree(&found).await?;
        let FoundComponent { component, from, .. } = found;
        let code = files.get(&component.path).cloned().unwrap_or_default();
        let facts = self
            .bundler
            .of(caller.org_id.as_str())
            .facts(files, component.path.clone())
            .await
            .map_err(bundle_error)?;
        let versions = self.ctx.store.registry_versions(&caller.org_id, &component.key).await?;
        Ok(RegistryEntry {
            component,
            from,
            code,
            manifest: facts.map(|facts| facts.manifest).unwrap_or_default(),
            versions,
        })
    }

    /// The code of a registry's component, with the files that it may import, and the registry.
    pub(crate) async fn code(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<Option<(CodeRef, FromRegistry)>, EngineError> {
        let Some(found) = self.find(caller, name).await? else {
            return Ok(None);
        };
        let files = self.tree(&found).await?;
        let path = found.component.path;
        let code = files.get(&path).cloned().ok_or_else(|| {
            EngineError::internal("a registry lacks the file of a component", path.clone())
        })?;
        let code =
            CodeRef::Code { code, files, entry: Some(path), is_javascript: false, url: None };
        Ok(Some((code, found.from)))
    }

    /// `key` as it is in the latest state of its tree, or `key@version`, which earlier states may
    /// have.
    async fn find(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<Option<FoundComponent>, EngineError> {
        let (key, version) = key_and_version(name);
        let found = self.ctx.store.registry_component(&caller.org_id, key, version).await?;
        let Some(version) = version.filter(|_| found.is_none()) else { return Ok(found) };
        let known = self.ctx.store.registry_versions(&caller.org_id, key).await?;
        if known.is_empty() {
            return Ok(None);
        }
        let named = known
            .iter()
            .take(VERSIONS_NAMED)
            .map(|v| format!("`{v}`"))
            .collect::<Vec<_>>()
            .join(", ");
        Err(EngineError::Invalid {
            code: "no_such_version",
            message: format!("no registry has version `{version}` of `{key}`; there are {named}"),
            details: serde_json::json!({ "field": "key", "versions": known }),
        })
    }

    /// The files of the component's app, and of all apps that these name, and so on.
    async fn tree(&self, found: &FoundComponent) -> Result<BTreeMap<String, String>, EngineError> {
        let (mut tree, mut bytes) = (BTreeMap::new(), 0);
        let mut waiting = vec![app_of(&found.component.path).to_owned(), String::new()];
        let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
        while let Some(app) = waiting.pop() {
            for file in
                self.ctx.store.registry_files(&found.registry, &app, found.generation).await?
            {
                // Files outside of apps are manifests, which import nothing.
                if !app.is_empty() {
                    waiting.extend(
                        apps_mentioned(&file.text)
                            .into_iter()
                            .map(str::to_owned)
                            .filter(|app| seen.insert(app.clone())),
                    );
                }
                bytes += file.text.len();
                tree.insert(file.path, file.text);
            }
            if bytes > FILES_BYTES_MAX {
                break;
            }
        }
        Ok(tree)
    }
}

/// By which the bundler knows a registry's tree from others.
fn tree_of(org: &OrgId, name: &str) -> String {
    format!("{org}/{name}")
}

fn check_name(name: &str) -> Result<(), EngineError> {
    let is_good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_good) && !name.starts_with('.') {
        return Ok(());
    }
    let shown: String = name.chars().take(NAME_MAX).collect();
    Err(EngineError::invalid(
        "name",
        format!(
            "`{shown}` is not a registry's name; allowed are 1 to {NAME_MAX} letters, digits, `-`, `_` and `.`"
        ),
    ))
}
