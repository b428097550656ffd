//! Saving components: code → artifact → what the module says of itself. Nothing is stored unless
//! all of it works.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millrace_bundle::{BundleRequest, Entry};
use millrace_model::component::{Artifact, CodeFiles, ComponentType, Manifest, SavedComponent};
use millrace_model::ids::ComponentId;
use millrace_model::page::{Listing, Page};
use millrace_model::registry::FromRegistry;
use millrace_model::slug::slugify;
use millrace_model::tenant::{Caller, Scope};
use millrace_runner::{Call, FailureKind, IsolateSpec};
use serde_json::{json, value::to_raw_value};

use crate::bundle_error::bundle_error;
use crate::checks::key_and_version;
use crate::run::artifact_files::{StoredLock, is_hash};
use crate::run::call::MODULE;
use crate::run::sink::Ignore;
use crate::tenants::apps::AuthKeys;
use crate::tenants::secrets::sha256_hex;
use crate::{Engine, EngineError, ErrorKind, check_scope};

/// Wall-clock limit of loading a module to read its manifest.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Where a component's code comes from.
#[derive(Clone, Debug)]
pub enum CodeRef {
    /// A saved component.
    Component(ComponentId),
    /// The published component with that key, else the one of a registry.
    Key(String),
    /// Source text, with the files that its relative imports reach.
    Code {
        /// The entry's text.
        code: String,
        /// Texts by path relative to one root.
        files: BTreeMap<String, String>,
        /// The entry's path below that root.
        entry: Option<String>,
        /// Whether the entry was said to be JavaScript, and is refused where it is not.
        is_javascript: bool,
        /// Where the code came from, kept as metadata.
        url: Option<String>,
    },
    /// An address of the code.
    Url(String),
}

/// A component that was built but not stored.
pub(crate) struct Built {
    pub(crate) component: SavedComponent,
    pub(crate) artifact: Artifact,
}

impl Built {
    /// As code of a registry, which keeps the files.
    fn of_registry(mut self, from: FromRegistry) -> Self {
        self.component.files = None;
        self.component.registry = Some(from);
        self
    }
}

impl Engine {
    /// Builds and stores a component; with `publish` it answers to its key from now on.
    pub async fn save_component(
        &self,
        caller: &Caller,
        code: CodeRef,
        publish: bool,
    ) -> Result<SavedComponent, EngineError> {
        let built = match code {
            CodeRef::Key(key) => {
                let (code, from) = self
                    .registries()
                    .code(caller, &key)
                    .await?
                    .ok_or_else(|| EngineError::not_found("component", key))?;
                self.build_component(caller, &code, None).await?.of_registry(from)
            }
            code => self.build_component(caller, &code, None).await?,
        };
        let kind = built.component.manifest.check()?;
        let mut component = SavedComponent { component_type: kind, ..built.component };
        if let Some(known) = self.same_component(&component).await?
            && (known.published || !publish)
        {
            return Ok(known);
        }
        if publish {
            if component.manifest.key.as_deref().unwrap_or("").trim().is_empty() {
                return Err(EngineError::Component {
                    code: "invalid_component",
                    message: format!(
                        "the component `{}` has no `key`; publishing needs one, such as `app_name-do-something`",
                        component.manifest.name.as_deref().unwrap_or("")
                    ),
                    details: json!({ "field": "key" }),
                });
            }
            component.published = true;
        }
        self.0.store.put_artifact(built.artifact).await?;
        self.0.store.create_component(component.clone()).await?;
        Ok(component)
    }

    /// A component by id, by the hash of its code, or by its published key, with `@version` behind
    /// it or without.
    pub async fn component(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<SavedComponent, EngineError> {
        let store = &self.0.store;
        let found = match name.parse::<ComponentId>() {
            Ok(id) => store.component(&caller.org_id, &id).await?,
            Err(_) if is_hash(name) => store.component_by_hash(&caller.org_id, name, None).await?,
            Err(_) => {
                let (key, version) = key_and_version(name);
                store.component_by_key(&caller.org_id, key, version).await?
            }
        };
        found.ok_or_else(|| EngineError::not_found("component", name))
    }

    /// A component to look at: as [`Self::component`], and where nothing is published with the key,
    /// the newest that was saved with it.
    pub async fn shown_component(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<SavedComponent, EngineError> {
        match self.component(caller, name).await {
            Err(EngineError::NotFound { .. }) => {
                let (key, version) = key_and_version(name);
                let saved =
                    self.0.store.newest_component_of_key(&caller.org_id, key, version).await?;
                saved.ok_or_else(|| EngineError::not_found("component", name))
            }
            found => found,
        }
    }

    /// The published components.
    pub async fn list_components(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<SavedComponent>, EngineError> {
        Ok(self.0.store.list_components(&caller.org_id, page).await?)
    }

    /// Takes a published component's key away; workflows that use it go on.
    pub async fn unpublish_component(&self, caller: &Caller, key: &str) -> Result<(), EngineError> {
        match self.0.store.unpublish_component(&caller.org_id, key).await {
            Err(millrace_store::StoreError::NotFound) => {
                Err(EngineError::not_found("component", key))
            }
            other => Ok(other?),
        }
    }

    /// The saved component that `code` names, or a new one, built; `earlier`: whose package lock a
    /// redeploy keeps.
    pub(crate) async fn resolve_component(
        &self,
        caller: &Caller,
        code: &CodeRef,
        earlier: Option<&SavedComponent>,
    ) -> Result<(SavedComponent, Option<Artifact>), EngineError> {
        match code {
            CodeRef::Component(id) => Ok((self.component(caller, id.as_str()).await?, None)),
            CodeRef::Key(key) => match self.component(caller, key).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match self.registries().code(caller, key).await? {
                        Some((code, from)) => {
                            let built = self.build_component(caller, &code, earlier).await?;
                            self.built_or_known(built.of_registry(from)).await
                        }
                        None => Err(error),
                    }
                }
                found => Ok((found?, None)),
            },
            CodeRef::Code { .. } | CodeRef::Url(_) => {
                let built = self.build_component(caller, code, earlier).await?;
                self.built_or_known(built).await
            }
        }
    }

    /// The action that `code` names, for a run of it by itself. A caller that may not deploy runs
    /// what is published or stands in a registry; nothing is stored and no app is registered,
    /// whoever asks.
    pub(crate) async fn runnable_component(
        &self,
        caller: &Caller,
        code: &CodeRef,
    ) -> Result<(SavedComponent, Option<Artifact>), EngineError> {
        let may_deploy = || check_scope(caller, Scope::Deploy);
        let registered = match code {
            CodeRef::Component(id) => {
                let component = self.component(caller, id.as_str()).await?;
                if !component.published {
                    may_deploy()?;
                }
                return Ok((component, None));
            }
            CodeRef::Key(key) => match self.component(caller, key).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    Some(self.registries().code(caller, key).await?.ok_or(error)?)
                }
                found => {
                    let component = found?;
                    // A hash of code names what is saved as well.
                    if !component.published {
                        may_deploy()?;
                    }
                    return Ok((component, None));
                }
            },
            CodeRef::Code { .. } | CodeRef::Url(_) => {
                may_deploy()?;
                None
            }
        };
        let built = match registered {
            Some((code, _)) => self.built_of_registry(caller, &code).await?,
            None => Arc::new(self.bundled(caller, code, None).await?.0),
        };
        Ok((built.component.clone(), Some(built.artifact.clone())))
    }

    /// What was built; where the same code was built to the same before, the component that was
    /// saved then.
    async fn built_or_known(
        &self,
        Built { component, artifact }: Built,
    ) -> Result<(SavedComponent, Option<Artifact>), EngineError> {
        Ok(match self.same_component(&component).await? {
            Some(known) => (known, None),
            None => (component, Some(artifact)),
        })
    }

    /// The component that was saved of the same code with the same files of the same origin, built
    /// to the same module.
    async fn same_component(
        &self,
        component: &SavedComponent,
    ) -> Result<Option<SavedComponent>, EngineError> {
        let known = self
            .0
            .store
            .component_by_hash(
                &component.org_id,
                &component.code_hash,
                Some(&component.artifact_id),
            )
            .await?;
        let registry =
            |component: &SavedComponent| component.registry.as_ref().map(|from| from.name.clone());
        Ok(known.filter(|known| {
            known.url == component.url
                && known.files == component.files
                && registry(known) == registry(component)
        }))
    }

    /// Bundles and describes, and registers the apps that the component names.
    pub(crate) async fn build_component(
        &self,
        caller: &Caller,
        code: &CodeRef,
        earlier: Option<&SavedComponent>,
    ) -> Result<Built, EngineError> {
        let (built, auth_keys) = self.bundled(caller, code, earlier).await?;
        self.apps().infer(caller, &built.component.manifest.props, &auth_keys).await?;
        Ok(built)
    }

    /// Bundles and describes, and stores nothing. With the keys of `$auth` that the code reads of
    /// each app.
    pub(super) async fn bundled(
        &self,
        caller: &Caller,
        code: &CodeRef,
        earlier: Option<&SavedComponent>,
    ) -> Result<(Built, AuthKeys), EngineError> {
        let (entry, url) = match code {
            CodeRef::Code { code, files, entry, is_javascript, url } => {
                (entry_of(code, files, entry.as_deref(), *is_javascript)?, url.clone())
            }
            CodeRef::Url(url) => (Entry::Url { url: url.clone() }, Some(url.clone())),
            CodeRef::Component(_) | CodeRef::Key(_) => {
                return Err(EngineError::missing(
                    "component_code",
                    "give `component_code` or `component_url`",
                ));
            }
        };
        let lock = match earlier {
            Some(component) => self
                .0
                .store
                .artifact(&component.artifact_id)
                .await?
                .and_then(|a| millrace_model::json::from_str::<StoredLock>(&a.lock).ok())
                .map(|stored| stored.lock),
            None => None,
        };
        let bundle = self
            .0
            .bundler
            .of(caller.org_id.as_str())
            .bundle(BundleRequest { entry, lock })
            .await
            .map_err(bundle_error)?;
        let stored = StoredLock { lock: bundle.lock, beside: bundle.beside };
        let lock = serde_json::to_string(&stored)
            .map_err(|e| EngineError::internal("could not write the package lock", e))?;
        let identity = match &stored.beside {
            Some(beside) => format!("{}\n{}", bundle.code, json!(beside)),
            None => bundle.code.clone(),
        };
        let artifact = Artifact {
            id: sha256_hex(identity.as_bytes()),
            code: bundle.code,
            source_map: bundle.source_map,
            lock,
            responds: bundle.responds,
        };
        let manifest = self
            .describe(caller, &artifact)
            .await
            .map_err(|error| of_an_old_node(error, &bundle.unfit))?;
        manifest.check_key()?;
        let now = self.now();
        // Of an address only the entry is kept: the rest is where it came from.
        let files = match code {
            // Of code without a path, only one that is no JavaScript has a name to keep.
            CodeRef::Code { files, entry, .. }
                if entry.is_some() || bundle.entry.ends_with(".ts") =>
            {
                let others = files
                    .iter()
                    .filter(|(path, _)| **path != bundle.entry && Some(*path) != entry.as_ref());
                Some(CodeFiles {
                    entry: bundle.entry.clone(),
                    others: others.map(|(path, text)| (path.clone(), text.clone())).collect(),
                })
            }
            _ => None,
        };
        let component = SavedComponent {
            files,
            id: ComponentId::generate(&self.0.ids),
            org_id: caller.org_id.clone(),
            code_hash: sha256_hex(bundle.entry_code.as_bytes()),
            code: bundle.entry_code,
            url,
            registry: None,
            component_type: if manifest.component_type.as_deref() == Some("action") {
                ComponentType::Action
            } else {
                ComponentType::Source
            },
            manifest,
            artifact_id: artifact.id.clone(),
            published: false,
            created_at: now,
            updated_at: now,
        };
        Ok((Built { component, artifact }, bundle.auth_keys))
    }

    /// Loads the module in a host of its own and asks what it is.
    async fn describe(
        &self,
        caller: &Caller,
        artifact: &Artifact,
    ) -> Result<Manifest, EngineError> {
        let module = self.module(MODULE, artifact).await?;
        self.install_beside(&caller.org_id, [&module]).await?;
        let isolate = Arc::new(IsolateSpec {
            id: format!("describe:{}:{}", artifact.id, self.0.ids.base62(6)),
            organization: caller.org_id.to_string(),
            modules: vec![module],
            env: BTreeMap::new(),
            memory_mb: None,
            calls_per_isolate: 1,
            isolates_max: 1,
            in_order: false,
        });
        let body = to_raw_value(&json!({ "kind": "describe", "module": MODULE }))
            .map_err(|e| EngineError::internal("could not ask for the manifest", e))?;
        let outcome = self
            .0
            .runner
            .call(
                isolate.clone(),
                Call { body, timeout: DESCRIBE_TIMEOUT, steps: Vec::new() },
                Arc::new(Ignore),
            )
            .await;
        let runner = self.0.runner.clone();
        self.0.tasks.spawn(async move { runner.evict(&isolate.id).await });
        let done = outcome.result.map_err(|failure| {
            if matches!(failure.kind, FailureKind::NoRoom | FailureKind::Overloaded) {
                tracing::warn!(reason = failure.message, "a component could not be looked at");
                return EngineError::NoProcess;
            }
            EngineError::Component {
                code: "component_does_not_load",
                message: format!(
                    "the component does not load: {}: {}",
                    failure.code, failure.message
                ),
                details: json!({ "error": failure.code, "stack": failure.stack }),
            }
        })?;
        millrace_model::json::from_str(done.result.get()).map_err(|e| EngineError::Component {
            code: "invalid_component",
            message: format!("the component's definition is not of the expected form: {e}"),
            details: json!({}),
        })
    }
}

/// An error of loading, with the packages that may not run on the Node in use.
fn of_an_old_node(error: EngineError, unfit: &[String]) -> EngineError {
    match error {
        EngineError::Component { code: code @ "component_does_not_load", message, details }
            if !unfit.is_empty() =>
        {
            EngineError::Component {
                code,
                message: format!("{message} ({})", unfit.join("; ")),
                details,
            }
        }
        error => error,
    }
}

fn entry_of(
    code: &str,
    files: &BTreeMap<String, String>,
    entry: Option<&str>,
    is_javascript: bool,
) -> Result<Entry, EngineError> {
    if code.trim().is_empty() {
        return Err(EngineError::missing(
            "component_code",
            "`component_code` is empty; give the text of a component",
        ));
    }
    let entry = entry.unwrap_or("component");
    if entry.starts_with('/') || entry.split('/').any(|part| part == ".." || part.is_empty()) {
        return Err(EngineError::invalid(
            "component_entry",
            format!("`{entry}` is not a path below the root of the files"),
        ));
    }
    let mut files = files.clone();
    files.insert(entry.to_owned(), code.to_owned());
    Ok(Entry::Files { entry: entry.to_owned(), files, is_javascript })
}

/// The slug that a record of this name starts from.
pub(crate) fn base_slug(name: &str) -> String {
    slugify(name)
}
