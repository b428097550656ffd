//! Component source to artifact: imports resolved, packages installed, one ES module out (`feasibility.md` compares the ways).
//!
//! Only this crate may name rolldown. Start at [`Bundler::bundle`].

mod archive;
mod author;
mod dependencies;
mod error;
pub mod extract;
mod guarded;
mod index;
mod known;
mod packages;
mod pages;
mod plugin;
mod reach;
mod registry;
mod responds;
mod sloppy;
mod specifier;
mod tree;
mod worker;
mod workshop;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::egress::Shared;
pub use millrace_walls::Kernel;
pub use millrace_walls::cgroup::ControlGroups;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

pub use crate::archive::unpack_tree;
pub use crate::error::BundleError;
pub use crate::index::{Index, IndexEntry, Unindexed};
use crate::known::Known;
pub use crate::tree::{Files, Folder};
pub use crate::worker::{WorkerCommand, work};
use crate::workshop::Workshop;

/// Bundles at once: a large one takes hundreds of megabytes.
const BUNDLES_MAX: usize = 2;

/// Where packages come from and are kept.
#[derive(Clone, Debug)]
pub struct BundlerConfig {
    /// Where packages and registry documents are kept, for all organizations.
    pub cache_dir: PathBuf,
    /// The npm registry.
    pub registry_url: String,
    /// A registry document younger than this is not asked for again.
    pub metadata_max_age: Duration,
    /// ES modules of ours that answer to a package's name.
    pub platform_modules: &'static [(&'static str, &'static str)],
    /// Which addresses a component's own files may be fetched from. The registry is the operator's choice and not bound by it.
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
    /// Memory of each of its processes, MiB.
    pub memory_mb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(180), memory_mb: 2048 }
    }
}

/// Turns component source into artifacts.
#[derive(Clone)]
pub struct Bundler {
    config: BundlerConfig,
    places: Arc<Semaphore>,
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
        /// The path of the entry.
        entry: String,
        /// Texts by path; relative imports resolve among them.
        files: BTreeMap<String, String>,
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

/// Versions chosen: `name@range` to a version (an empty one where an optional package was left out). The same source and lock give the same bundle.
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
    /// `sha512-…` of the archive.
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
    /// The entry as its author wrote it.
    pub entry_code: String,
    /// Whether the author's code calls `….respond(…)`.
    pub uses_respond: bool,
    /// Specifiers of packages that the author's code imports.
    pub imports: Vec<String>,
    /// Keys of `$auth` that the author's code reads, by the app's slug.
    pub auth_keys: BTreeMap<String, BTreeSet<String>>,
}

impl Bundler {
    /// A bundler that works in this process: for tools and tests. Code can bring the process down, by its nesting alone.
    pub fn here(config: BundlerConfig) -> Result<Self, BundleError> {
        let workshop = Workshop::open(&config)?;
        Ok(Self { config, places: Arc::new(Semaphore::new(BUNDLES_MAX)), work: Work::Here(Arc::new(workshop)) })
    }

    /// A bundler that starts a process for each bundle, as servers do: code that breaks a parser breaks nothing else, and
    /// the memory of bundling goes with the process.
    pub fn in_processes(config: BundlerConfig, command: WorkerCommand) -> Self {
        Self { config, places: Arc::new(Semaphore::new(BUNDLES_MAX)), work: Work::InProcesses(command) }
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

    /// Bundles a component.
    pub async fn bundle(&self, request: BundleRequest) -> Result<Bundle, BundleError> {
        let _place = self.places.acquire().await.map_err(|e| BundleError::Internal { what: "the bundler is closed", source: Box::new(e) })?;
        match &self.work {
            Work::Here(workshop) => workshop.bundle(request).await,
            Work::InProcesses(command) => command.bundle(&self.config, request).await,
        }
    }

    /// Indexes an uploaded tree (see [`Index::of`]). A server reads only the files anew that changed since it indexed the tree of that name.
    pub async fn index(&self, tree: &str, files: BTreeMap<String, String>) -> Result<Index, BundleError> {
        match &self.work {
            Work::Here(_) => tokio::task::spawn_blocking(move || Index::of(&files, None))
                .await
                .map_err(|e| BundleError::Internal { what: "the index broke down", source: Box::new(e) }),
            Work::InProcesses(command) => {
                let known = Known::of(&self.config.cache_dir, &command.program, tree);
                let earlier = match &known {
                    Some(known) => known.read().await,
                    None => None,
                };
                let index = command.index(&self.config, files, earlier).await?;
                if let Some(known) = known {
                    known.keep(&index).await;
                }
                Ok(index)
            }
        }
    }

    /// Forgets what it knows of the tree of that name.
    pub async fn forget_index(&self, tree: &str) {
        if let Work::InProcesses(command) = &self.work
            && let Some(known) = Known::of(&self.config.cache_dir, &command.program, tree)
        {
            known.forget().await;
        }
    }

    /// Reads a component without running it (see [`extract::component`]).
    pub async fn facts(&self, files: BTreeMap<String, String>, path: String) -> Result<Option<extract::ComponentFacts>, BundleError> {
        match &self.work {
            Work::Here(_) => tokio::task::spawn_blocking(move || extract::component(&files, &path))
                .await
                .map_err(|e| BundleError::Internal { what: "reading the component broke down", source: Box::new(e) }),
            Work::InProcesses(command) => command.facts(&self.config, files, path).await,
        }
    }
}
