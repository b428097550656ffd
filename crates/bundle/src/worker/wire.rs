//! Messages between the server and its processes: JSON, a line each.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use millrace_model::egress::Policy;
use millrace_model::npm_registry::NpmRegistry;
use serde::{Deserialize, Serialize};

use super::trial::Trial;
use crate::extract::ComponentFacts;
use crate::{Bundle, BundleError, BundleRequest, BundlerConfig, Entry, Index, LockedPackage};

/// The first line that a process gets: how it is to wall itself in before it reads the second.
#[derive(Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) role: Role,
    pub(super) landlock: bool,
    pub(super) seccomp: bool,
    pub(super) cache_dir: PathBuf,
    /// Memory that it may have, bytes.
    pub(super) memory_bytes: u64,
    /// CPU time that it may use, seconds.
    pub(super) cpu_seconds: u64,
}

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Role {
    /// It reads strangers' code. It connects to nothing and writes nothing.
    Bundles,
    /// It fetches packages and files, and reads no code.
    Fetches,
}

impl Role {
    /// What it does, in words.
    pub(super) const fn job(self) -> &'static str {
        match self {
            Self::Bundles => "bundling the component",
            Self::Fetches => "fetching the component's packages",
        }
    }
}

/// The second line.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) cache_dir: PathBuf,
    pub(super) registry: NpmRegistry,
    pub(super) metadata_max_age: Duration,
    pub(super) node_version: String,
    pub(super) job: Job,
}

impl Question {
    pub(super) fn of(config: &BundlerConfig, job: Job) -> Self {
        let BundlerConfig { cache_dir, registry, metadata_max_age, node_version, .. } =
            config.clone();
        // What reads strangers' code needs no credentials: it asks the registry nothing.
        let registry = match &job {
            Job::Fetch(..) => registry,
            _ => registry.without_credentials(),
        };
        Self { cache_dir, registry, metadata_max_age, node_version, job }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) enum Job {
    /// Whatever parses strangers' code.
    Bundle(BundleRequest),
    Index(BTreeMap<String, String>, Option<Index>),
    Facts(BTreeMap<String, String>, String),
    /// The others: of a process that fetches, for an entry that may lead to files beside it ...
    Fetch(Policy, Option<Entry>),
    /// ... and of one that wants out.
    Try(Trial),
}

/// A line of a process's.
#[derive(Serialize, Deserialize)]
pub(super) enum Said {
    Asked(Asked),
    Done(Answer),
}

/// What a process that bundles needs from outside, and what comes of it has the same number.
#[derive(Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) id: u64,
    pub(super) need: Need,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Need {
    /// The registry's document of a package, in the cache.
    Document { name: String, importer: String },
    /// A package, in the cache.
    Package { import_name: String, package: LockedPackage },
    /// The text at an address.
    Page { url: String },
}

/// A line that answers a need.
#[derive(Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) id: u64,
    pub(super) given: Result<Option<String>, Wrong>,
}

/// What went wrong in another process.
#[derive(Serialize, Deserialize)]
pub(super) enum Wrong {
    Refused(BundleError),
    /// Ours to mend.
    Failed(String),
    /// The disk of the packages is full.
    DiskFull(String),
}

#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    Bundle(Box<Bundle>),
    Index(Index),
    Facts(Box<Option<ComponentFacts>>),
    /// What was open that should be closed, in words.
    Tried(Vec<String>),
    Wrong(Wrong),
}

impl From<BundleError> for Wrong {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Internal { what, source } if is_full(&*source) => {
                Self::DiskFull(format!("{what}: {source}"))
            }
            BundleError::Internal { what, source } => Self::Failed(format!("{what}: {source}")),
            BundleError::NoProcess { .. } => Self::Failed(error.to_string()),
            error => Self::Refused(error),
        }
    }
}

impl From<Wrong> for BundleError {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::Refused(error) => error,
            Wrong::Failed(why) => failed("the bundler failed", why),
            Wrong::DiskFull(why) => failed(
                "could not keep packages in the cache of the data directory",
                std::io::Error::new(ErrorKind::StorageFull, why),
            ),
        }
    }
}

fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|error| {
        error.downcast_ref().is_some_and(|error: &std::io::Error| {
            matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        })
    })
}

/// A line.
pub(super) fn line(value: &impl Serialize) -> Result<Vec<u8>, BundleError> {
    let mut line = serde_json::to_vec(value)
        .map_err(|e| failed("could not write to the bundler's process", e))?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn failed(
    what: &'static str,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> BundleError {
    BundleError::Internal { what, source: why.into() }
}
