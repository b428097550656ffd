//! Component source to artifact: imports resolved, packages installed, one ES module out
//! (`feasibility.md` compares the ways).
//!
//! Only this crate may name rolldown. Start at [`Bundler::bundle`].

mod archive;
mod author;
mod bundler_helpers;
mod class_names;
mod common_types;
mod dependencies;
mod depth;
mod dollar_flow;
mod error;
pub mod extract;
mod facts_cache;
mod growth;
mod gzip_members;
mod index;
mod index_cache;
mod indexing;
mod kinds;
mod language;
mod lenient;
mod manifest;
mod names;
mod namespaces;
mod optional_modules;
mod options;
mod overrides;
mod own_files;
mod own_package;
mod package_closure;
mod packages;
mod packument;
mod peers;
mod place_dependent;
mod plugin;
mod ranges;
mod reach;
mod registry;
mod remote_files;
mod responds;
mod rewritten;
mod sloppy;
mod specifier;
mod tar_entries;
mod tree;
mod typescript;
mod unpack;
mod worker;
mod workshop;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use millrace_fair::{Class, FairSemaphore, Permit, Policy, Rejected};
use millrace_model::component::{Beside, Responds};
use millrace_model::egress::Shared;
use millrace_model::npm_registry::NpmRegistry;
pub use millrace_walls::Kernel;
pub use millrace_walls::cgroup::ControlGroups;
use serde::{Deserialize, Serialize};

pub use crate::archive::{UploadedTree, unpack_tree};
pub use crate::error::BundleError;
use crate::facts_cache::FactsCache;
pub use crate::index::{Index, IndexEntry, Unindexed};
pub use crate::tree::{Files, Folder};
pub use crate::worker::{WorkerCommand, work};
use crate::workshop::Workshop;

/// Bundles at once: a large one takes hundreds of megabytes.
const BUNDLES_MAX: usize = 2;
/// Of one organization, these may wait: each holds its request.
const WAITING_MAX: usize = 8;
/// Of one organization, bundles at once whose time is that of a server which a request names.
const OF_ADDRESSES_MAX: usize = 1;
/// Of one organization, installations at once of packages that the cache has lost: its deploys
/// have a slot beside them.
const INSTALLS_MAX: usize = 1;

/// Where packages come from and are kept.
#[derive(Clone, Debug)]
pub struct BundlerConfig {
    /// Where packages and registry documents are kept, for all organizations.
    pub cache_dir: PathBuf,
    /// The npm registry, and the credentials for it.
    pub registry: NpmRegistry,
    /// A registry document younger than this is not asked for again.
    pub metadata_max_age: Duration,
    /// The version of Node that runs what is bundled, such as `20.20.2`: packages are chosen for
    /// it. Where it is none, all packages run.
    pub node_version: String,
    /// ES modules of ours that answer to a package's name.
    pub platform_modules: &'static [(&'static str, &'static str)],
    /// Which addresses a component's own files may be fetched from. The registry is the operator's
    /// choice and not bound by it.
    pub egress: Shared,
    /// What one bundle may take, in processes of its own.
    pub limits: Limits,
    /// The walls that are put up around these processes.
    pub walls: Kernel,
    /// Where control groups for them are made, if anywhere.
    pub groups: Option<Arc<ControlGroups>>,
}

/// What one bundle may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Downloads of its packages included.
    pub time: Duration,
    /// CPU time of each of its processes, of all threads together.
    pub cpu_time: Duration,
    /// Memory of each of its processes, MiB.
    pub memory_mb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(180), cpu_time: Duration::from_secs(240), memory_mb: 2048 }
    }
}

/// Turns component source into artifacts.
#[derive(Clone)]
pub struct Bundler {
    config: BundlerConfig,
    slots: FairSemaphore<Arc<str>>,
    /// For whom it works; nobody in particular where it is empty.
    organization: Arc<str>,
    facts: Arc<FactsCache>,
    work: Work,
}

#[derive(Clone)]
enum Work {
    Here(Arc<Workshop>),
    InProcesses(WorkerCommand),
}

/// Where the source is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// Files by path relative to one root.
    Files {
        /// The path of the entry. One without an ending is JavaScript or, where it is not that,
        /// TypeScript.
        entry: String,
        /// Texts by path; relative imports resolve among them.
        files: BTreeMap<String, String>,
        /// Whether the entry is refused where it is no JavaScript. Else what its ending calls
        /// JavaScript is read as TypeScript where it is that.
        is_javascript: bool,
    },
    /// An address; relative imports resolve against it.
    Url {
        /// `http:` or `https:`.
        url: String,
    },
}

/// What is to be bundled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BundleRequest {
    /// The source.
    pub entry: Entry,
    /// Versions to keep.
    pub lock: Option<Lock>,
}

/// Versions chosen: `name@range` to a version (an empty one where an optional package was left
/// out). The same source and lock give the same bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lock(pub BTreeMap<String, LockedPackage>);

/// A version chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedPackage {
    /// The package's own name (an alias may differ).
    pub name: String,
    /// The version.
    pub version: String,
    /// Checksums of the archive (see [`millrace_model::integrity`]), mostly `sha512-…`; empty where
    /// the registry names none.
    pub integrity: String,
}

/// An artifact to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// One ES module.
    pub code: String,
    /// Its source map, JSON.
    pub source_map: Option<String>,
    /// The versions chosen.
    pub lock: Lock,
    /// The path or address of the entry, with the ending of its language.
    pub entry: String,
    /// What lies beside it: packages as installed, and its author's own files.
    pub beside: Option<Beside>,
    /// The entry as its author wrote it.
    pub entry_code: String,
    /// Whether it answers HTTP requests itself.
    pub responds: Responds,
    /// Specifiers of packages that the author's code imports.
    pub imports: Vec<String>,
    /// Packages that want a newer Node than there is, in words: why the module may not load.
    pub unfit: Vec<String>,
    /// Keys of `$auth` that the author's code reads, by the app's slug.
    pub auth_keys: BTreeMap<String, BTreeSet<String>>,
}

impl Bundler {
    /// A bundler that works in this process: for tools and tests. Code can bring the process down,
    /// by its nesting alone.
    pub fn here(config: BundlerConfig) -> Result<Self, BundleError> {
        let workshop = Workshop::open(&config)?;
        Ok(Self::with(config, Work::Here(Arc::new(workshop))))
    }

    /// A bundler that starts a process for each bundle, as servers do: code that breaks a parser
    /// breaks nothing else, and the memory of bundling goes with the process.
    pub fn in_processes(config: BundlerConfig, command: WorkerCommand) -> Self {
        Self::with(config, Work::InProcesses(command))
    }

    fn with(config: BundlerConfig, work: Work) -> Self {
        Self {
            config,
            slots: FairSemaphore::new(Policy::one_at_a_time(BUNDLES_MAX)),
            organization: "".into(),
            facts: Arc::default(),
            work,
        }
    }

    /// The same bundler for an organization: those that ask it take turns, and of each only so many
    /// may wait.
    #[must_use]
    pub fn of(&self, organization: &str) -> Self {
        Self { organization: organization.into(), ..self.clone() }
    }

    /// Waits for a bundle slot, of which the organization may have `slots_max` for such work.
    async fn slot(&self, slots_max: usize) -> Result<Permit<Arc<str>>, BundleError> {
        let waiting_max = if self.organization.is_empty() { usize::MAX } else { WAITING_MAX };
        self.slot_of(Class::of_tenant(slots_max, waiting_max)).await
    }

    async fn slot_of(&self, class: Class) -> Result<Permit<Arc<str>>, BundleError> {
        let slot = self.slots.acquire(self.organization.clone(), (), &class).await;
        slot.map_err(|Rejected| BundleError::Waiting { waiting_max: class.waiting.tenant })
    }

    /// Lets processes try to get out of their walls, where there are any.
    ///
    /// # Errors
    /// In words: what was open that should be closed, or why they do not run within them.
    pub async fn try_walls(&self) -> Result<(), String> {
        match &self.work {
            Work::Here(_) => Ok(()),
            Work::InProcesses(command) => command.try_walls(&self.config).await,
        }
    }

    /// The folder in which packages lie as installed.
    pub fn package_store(&self) -> PathBuf {
        self.config.cache_dir.join(packages::PACKAGES)
    }

    /// Installs the packages beside a bundle that the store lacks, by their checksums.
    pub async fn provide(&self, beside: &Beside) -> Result<(), BundleError> {
        if self.missing(beside).await.is_empty() {
            return Ok(());
        }
        let _slot = self.slot_of(Class::of_tenant(INSTALLS_MAX, usize::MAX)).await?;
        // The installation before may have brought them.
        let missing = self.missing(beside).await;
        if missing.is_empty() {
            return Ok(());
        }
        match &self.work {
            Work::Here(workshop) => workshop.install(&missing).await,
            Work::InProcesses(command) => command.install(&self.config, missing).await,
        }
    }

    async fn missing(&self, beside: &Beside) -> Vec<(String, LockedPackage)> {
        let store = self.package_store();
        let mut missing = Vec::new();
        for (folder, package) in &beside.packages {
            if !tokio::fs::try_exists(store.join(folder)).await.unwrap_or(false) {
                let locked = LockedPackage {
                    name: package.name.clone(),
                    version: package.version.clone(),
                    integrity: package.integrity.clone(),
                };
                missing.push((package.import_name.clone(), locked));
            }
        }
        missing
    }

    /// Bundles a component.
    pub async fn bundle(&self, request: BundleRequest) -> Result<Bundle, BundleError> {
        let slots_max =
            if matches!(request.entry, Entry::Url { .. }) { OF_ADDRESSES_MAX } else { BUNDLES_MAX };
        let _slot = self.slot(slots_max).await?;
        match &self.work {
            Work::Here(workshop) => workshop.bundle(request).await,
            Work::InProcesses(command) => command.bundle(&self.config, request).await,
        }
    }

    /// Reads a component without running it (see [`extract::component`]). A server remembers what
    /// it read last.
    pub async fn facts(
        &self,
        files: BTreeMap<String, String>,
        path: String,
    ) -> Result<Option<extract::ComponentFacts>, BundleError> {
        match &self.work {
            Work::Here(_) => tokio::task::spawn_blocking(move || extract::component(&files, &path))
                .await
                .map_err(|e| BundleError::Internal {
                    what: "reading the component broke down",
                    source: Box::new(e),
                }),
            Work::InProcesses(command) => {
                let hashed = tokio::task::spawn_blocking(move || {
                    (facts_cache::key(&files, &path), files, path)
                });
                let hashed = hashed.await.map_err(|e| BundleError::Internal {
                    what: "reading the component broke down",
                    source: Box::new(e),
                })?;
                let (key, files, path) = hashed;
                if let Some(known) = self.facts.get(&key) {
                    return Ok(known);
                }
                let _slot = self.slot(BUNDLES_MAX).await?;
                // The bundle before may have read the same.
                if let Some(known) = self.facts.get(&key) {
                    return Ok(known);
                }
                let facts = command.facts(&self.config, files, path).await?;
                self.facts.keep(key, &facts);
                Ok(facts)
            }
        }
    }
}
