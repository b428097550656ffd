//! Saving components: code → artifact → what the module says of itself. Nothing is stored unless
//! all of it works.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use millrace_bundle::{BundleRequest, Entry, Lock};
use millrace_model::component::{
    Artifact, Beside, CodeFiles, ComponentType, Manifest, SavedComponent,
};
use millrace_model::ids::ComponentId;
use millrace_model::own_files::{bytes_of, problem_of_part};
use millrace_model::page::{Listing, Page};
use millrace_model::slug::slugify;
use millrace_model::tenant::{Caller, Scope};
use millrace_runner::{Call, FailureKind, IsolateSpec, ModuleSpec, OWN_FILES, Packages};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::to_raw_value};
use tokio::io::AsyncWriteExt as _;

use crate::checks::key_and_version;
use crate::deploy::bundle_error::bundle_error;
use crate::run::sink::Ignore;
use crate::tenants::apps::AuthKeys;
use crate::tenants::secrets::sha256_hex;
use crate::{Engine, EngineError, ErrorKind, check_scope};

/// Wall-clock limit of loading a module to read its manifest.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);
/// Name of a component's only module in its isolate.
pub(crate) const MODULE: &str = "component";

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

/// The ending of the file beside a module that names the packages there.
const BESIDE: &str = "beside.json";

/// The package lock as it is stored: the versions, and what lies beside the bundle. With it and the
/// checksums the packages can be had again.
#[derive(Serialize, Deserialize)]
struct StoredLock {
    #[serde(flatten)]
    lock: Lock,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<Beside>,
}

/// A component that was built but not stored.
pub(crate) struct Built {
    pub(crate) component: SavedComponent,
    pub(crate) artifact: Artifact,
}

impl Engine {
    /// Builds and stores a component; with `publish` it answers to its key from now on.
    pub async fn save_component(
        &self,
        caller: &Caller,
        code: CodeRef,
        publish: bool,
    ) -> Result<SavedComponent, EngineError> {
        let is_registered = matches!(code, CodeRef::Key(_));
        let mut built = match code {
            CodeRef::Key(key) => {
                let code = self
                    .registries()
                    .code(caller, &key)
                    .await?
                    .ok_or_else(|| EngineError::not_found("component", key))?;
                self.build_component(caller, &code, None).await?
            }
            code => self.build_component(caller, &code, None).await?,
        };
        if is_registered {
            // The registry keeps the files.
            built.component.files = None;
        }
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
                        // The registry keeps the files.
                        Some(code) => self.built_or_known(caller, &code, earlier, false).await,
                        None => Err(error),
                    }
                }
                found => Ok((found?, None)),
            },
            CodeRef::Code { .. } | CodeRef::Url(_) => {
                self.built_or_known(caller, code, earlier, true).await
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
                    match self.registries().code(caller, key).await? {
                        Some(code) => Some(code),
                        None => return Err(error),
                    }
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
        let (built, _) = self.bundled(caller, registered.as_ref().unwrap_or(code), None).await?;
        Ok((built.component, Some(built.artifact)))
    }

    /// What the code is built to; where the same code was built to the same before, the component
    /// that was saved then.
    async fn built_or_known(
        &self,
        caller: &Caller,
        code: &CodeRef,
        earlier: Option<&SavedComponent>,
        keeps_files: bool,
    ) -> Result<(SavedComponent, Option<Artifact>), EngineError> {
        let Built { mut component, artifact } = self.build_component(caller, code, earlier).await?;
        if !keeps_files {
            component.files = None;
        }
        Ok(match self.same_component(&component).await? {
            Some(known) => (known, None),
            None => (component, Some(artifact)),
        })
    }

    /// The component that was saved of the same code with the same files, built to the same module.
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
        Ok(known.filter(|known| known.url == component.url && known.files == component.files))
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
    async fn bundled(
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
                .and_then(|a| serde_json::from_str::<StoredLock>(&a.lock).ok())
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
                Call { body, timeout: DESCRIBE_TIMEOUT, first_step: None },
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
        serde_json::from_str(done.result.get()).map_err(|e| EngineError::Component {
            code: "invalid_component",
            message: format!("the component's definition is not of the expected form: {e}"),
            details: json!({}),
        })
    }

    /// The module of a stored artifact, written from the store where it is missing.
    pub(crate) async fn stored_module(
        &self,
        name: &str,
        id: &str,
    ) -> Result<ModuleSpec, EngineError> {
        let path = self.0.config.artifact_dir.join(format!("{id}.mjs"));
        if is_written(&path).await {
            return self.with_packages(name, path).await;
        }
        let artifact = self.0.store.artifact(id).await?.ok_or_else(|| {
            EngineError::damaged(
                "the built code of a component",
                format!("the artifact `{id}` is missing in the store"),
            )
        })?;
        self.module(name, &artifact).await
    }

    /// The module of an artifact.
    pub(crate) async fn module(
        &self,
        name: &str,
        artifact: &Artifact,
    ) -> Result<ModuleSpec, EngineError> {
        let path = self.artifact_path(artifact).await?;
        self.with_packages(name, path).await
    }

    /// A module whose file is there, and the list of the packages beside it.
    /// [`Engine::install_beside`] installs those.
    async fn with_packages(
        &self,
        name: &str,
        path: std::path::PathBuf,
    ) -> Result<ModuleSpec, EngineError> {
        const LIST: &str = "the list of what lies beside an artifact";
        let packages = match tokio::fs::read(path.with_extension(BESIDE)).await {
            Ok(text) => {
                let beside: Beside = serde_json::from_slice(&text)
                    .map_err(|error| EngineError::damaged(LIST, error))?;
                Some(Arc::new(Packages { store: self.0.bundler.package_store(), beside }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(EngineError::damaged(LIST, error)),
        };
        Ok(ModuleSpec { name: name.to_owned(), path, packages })
    }

    async fn artifact_path(&self, artifact: &Artifact) -> Result<std::path::PathBuf, EngineError> {
        let dir = &self.0.config.artifact_dir;
        let path = dir.join(format!("{}.mjs", artifact.id));
        if is_written(&path).await {
            return Ok(path);
        }
        let failed = |e| EngineError::internal("could not write an artifact for its host", e);
        let map_name = format!("{}.mjs.map", artifact.id);
        let mut code = artifact.code.clone();
        if let Some(map) = &artifact.source_map {
            self.write_whole(&dir.join(&map_name), map.as_bytes()).await.map_err(failed)?;
            code = format!("{}\n//# sourceMappingURL={map_name}\n", code.trim_end());
        }
        let lock: StoredLock = serde_json::from_str(&artifact.lock)
            .map_err(|e| EngineError::damaged("the package lock of an artifact", e))?;
        if let Some(mut beside) = lock.beside {
            // First: a module that is there has what lies beside it.
            let own = std::mem::take(&mut beside.files);
            if !own.is_empty() {
                self.write_own_files(&path.with_extension(OWN_FILES), own).await.map_err(failed)?;
            }
            let text = serde_json::to_vec(&beside).map_err(|e| {
                EngineError::internal("could not write what lies beside an artifact", e)
            })?;
            self.write_whole(&path.with_extension(BESIDE), &text).await.map_err(failed)?;
        }
        self.write_whole(&path, code.as_bytes()).await.map_err(failed)?;
        Ok(path)
    }

    /// An author's own files as a folder, which is there whole or not at all. Their names come from
    /// a process that read what strangers wrote: they are checked here.
    async fn write_own_files(
        &self,
        folder: &Path,
        files: BTreeMap<String, String>,
    ) -> std::io::Result<()> {
        if files.keys().any(|path| path.split('/').any(|part| problem_of_part(part).is_some())) {
            return Err(std::io::Error::other(
                "a path of what lies beside an artifact leads out of its folder",
            ));
        }
        let part = folder.with_extension(format!("{}.part", self.0.ids.base62(8)));
        let folder = folder.to_path_buf();
        let written = tokio::task::spawn_blocking(move || {
            let written = files.iter().try_for_each(|(path, text)| {
                let file = part.join(path);
                std::fs::create_dir_all(file.parent().unwrap_or(&part))?;
                let mut file = std::fs::File::create(file)?;
                file.write_all(&bytes_of(text))?;
                file.sync_all()
            });
            let moved = written.and_then(|()| match std::fs::rename(&part, &folder) {
                // Another call was first: they are the same.
                Err(_) if folder.is_dir() => std::fs::remove_dir_all(&part),
                moved => moved,
            });
            if moved.is_err() {
                // On a full disk each attempt would leave some.
                let _ = std::fs::remove_dir_all(&part);
            }
            moved
        });
        written.await.unwrap_or_else(|e| Err(std::io::Error::other(e)))
    }

    /// A reader sees the whole file or none, also after a loss of power: its name may be on the
    /// disk before what is in it.
    async fn write_whole(&self, path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
        let part = path.with_extension(format!("{}.part", self.0.ids.base62(8)));
        let written = async {
            let mut file = tokio::fs::File::create(&part).await?;
            file.write_all(bytes).await?;
            file.flush().await?;
            file.sync_all().await?;
            tokio::fs::rename(&part, path).await
        };
        let written = written.await;
        if written.is_err() {
            // On a full disk each attempt would leave some.
            let _ = tokio::fs::remove_file(&part).await;
        }
        written
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

/// Whether an artifact is there. One without anything in it is what a loss of power left of it.
async fn is_written(path: &std::path::Path) -> bool {
    tokio::fs::metadata(path).await.is_ok_and(|file| file.len() > 0)
}

/// Whether a text is a SHA-256 in hex.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The `language` of code that is refused where it is no JavaScript.
pub const JAVASCRIPT: &str = "javascript";

/// The path of inline code: its language, where that is given, is the ending of its name. Without
/// either, the code tells.
///
/// # Errors
/// Where the language is another than that of the ending, or none that runs.
pub fn entry_in_language(
    entry: Option<String>,
    stem: &str,
    language: Option<&str>,
) -> Result<Option<String>, EngineError> {
    let (endings, ending): (&[&str], _) = match language {
        None => return Ok(entry),
        Some(JAVASCRIPT) => (&[".mjs", ".js", ".cjs", ".jsx"], ".mjs"),
        Some("typescript") => (&[".ts", ".mts", ".cts", ".tsx"], ".ts"),
        Some(other) => {
            let shown = millrace_model::shown(other);
            return Err(EngineError::invalid(
                "language",
                format!(
                    "`{shown}` is no language of components; allowed are `javascript` and `typescript`"
                ),
            ));
        }
    };
    match entry {
        Some(entry) if endings.iter().any(|ending| entry.ends_with(ending)) => Ok(Some(entry)),
        Some(entry) if entry.rsplit('/').next().is_some_and(|name| name.contains('.')) => {
            Err(EngineError::invalid(
                "language",
                format!(
                    "`{}` does not fit the code's path `{entry}`; leave one of both out",
                    language.unwrap_or_default()
                ),
            ))
        }
        entry => Ok(Some(format!("{}{ending}", entry.as_deref().unwrap_or(stem)))),
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
