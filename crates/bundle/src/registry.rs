//! The npm registry: documents of packages (kept for a while) and archives (checked).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_model::bounded_body::BoundedBody;
use millrace_model::integrity::has_integrity;
use millrace_model::npm_registry::NpmRegistry;
use nodejs_semver::Version;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, AUTHORIZATION};
use tokio::sync::Semaphore;

use crate::packument::Document;
use crate::ranges::Alternatives;
use crate::worker::Asker;
use crate::{BundleError, BundlerConfig, LockedPackage};

/// Where documents are kept, below the folder of caches.
pub(crate) const DOCUMENTS: &str = "documents";
/// The largest document and archive.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;
const ARCHIVE_BYTES_MAX: usize = 128 << 20;
/// Documents kept in memory.
const DOCUMENTS_MAX: usize = 500;
/// Questions asked at once.
const QUESTIONS_MAX: usize = 16;

pub(crate) struct Registry {
    outside: Outside,
    access: NpmRegistry,
    cache_dir: PathBuf,
    max_age: Duration,
    /// The Node that `engines` are compared with; None where its version is unknown, which every
    /// package runs on.
    node: Option<Version>,
    documents: Mutex<HashMap<String, (Instant, Arc<Document>)>>,
    /// Documents being asked for: many files import the same package at once.
    flights: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    questions: Semaphore,
}

/// How documents come in.
pub(crate) enum Outside {
    Http(reqwest::Client),
    /// Another process fetches what is missing, and leaves it in the cache.
    Asked(Arc<Asker>),
}

/// A version chosen from a document.
pub(crate) struct Chosen {
    pub(crate) package: LockedPackage,
    /// It is made for certain systems or CPUs, so it holds machine code.
    pub(crate) is_for_some_machines: bool,
}

impl Registry {
    pub(crate) fn new(outside: Outside, config: &BundlerConfig) -> Self {
        Self {
            outside,
            access: config.registry.clone(),
            cache_dir: config
                .cache_dir
                .join(DOCUMENTS)
                .join(config.registry.url().replace(|c: char| !c.is_ascii_alphanumeric(), "+")),
            max_age: config.metadata_max_age,
            node: Version::parse(&config.node_version).ok(),
            documents: Mutex::default(),
            flights: Mutex::default(),
            questions: Semaphore::new(QUESTIONS_MAX),
        }
    }

    /// Who fetches, where this process does not.
    pub(crate) fn asker(&self) -> Option<&Arc<Asker>> {
        match &self.outside {
            Outside::Http(_) => None,
            Outside::Asked(asker) => Some(asker),
        }
    }

    /// Selects the version that a range means, as npm does: the latest release where it fits and
    /// runs on the Node in use, else the greatest that does.
    pub(crate) async fn choose(
        &self,
        name: &str,
        range: &str,
        importer: &str,
    ) -> Result<Chosen, BundleError> {
        let (name, range) = match range.strip_prefix("npm:") {
            Some(alias) => match crate::specifier::Bare::parse(alias) {
                Some(bare) => (bare.name, bare.range.unwrap_or_default()),
                None => return Err(unsupported(name, range, importer)),
            },
            None => (name.to_owned(), range.to_owned()),
        };
        if range.contains(':') || range.contains('/') {
            return Err(unsupported(&name, &range, importer));
        }
        let document = self.document(&name, importer).await?;
        let version =
            document.pick(&range, self.node.as_ref()).ok_or_else(|| BundleError::NoVersion {
                name: name.clone(),
                range: range.clone(),
                importer: importer.to_owned(),
                known: document.known() + Alternatives::parse(&range).hint(),
            })?;
        let integrity = document.integrity(&version);
        let is_for_some_machines = document.is_for_some_machines(&version);
        Ok(Chosen { package: LockedPackage { name, version, integrity }, is_for_some_machines })
    }

    /// The Node that packages are chosen for.
    pub(crate) fn node(&self) -> Option<&Version> {
        self.node.as_ref()
    }

    /// The archive of a version, checked.
    pub(crate) async fn archive(&self, package: &LockedPackage) -> Result<Vec<u8>, BundleError> {
        let mut known =
            self.documents.lock().get(&package.name).map(|(_, document)| document.clone());
        if known.is_none() {
            known = self
                .on_disk(&self.file(&package.name))
                .await
                .map(|(document, _)| Arc::new(document));
        }
        if known.is_none() {
            // Not every registry has its archives where npm's has them.
            known = self.document(&package.name, "the package lock").await.ok();
        }
        let base = package.name.rsplit('/').next().unwrap_or(&package.name);
        let address = known
            .and_then(|document| document.archive(&package.version).map(str::to_owned))
            .unwrap_or_else(|| {
                format!("{}/{}/-/{base}-{}.tgz", self.access.url(), package.name, package.version)
            });
        let Outside::Http(http) = &self.outside else {
            return Err(failed(&package.name, "this process fetches nothing"));
        };
        let bytes = self
            .get(http, &package.name, &address, None, ARCHIVE_BYTES_MAX)
            .await?
            .ok_or_else(|| failed(&package.name, "the archive is not there"))?;
        if !has_integrity(&bytes, &package.integrity) {
            let package = format!("{}@{}", package.name, package.version);
            return Err(BundleError::Integrity { package });
        }
        Ok(bytes)
    }

    /// Sees to it that the cache holds a package's document, as young as it can be.
    pub(crate) async fn refresh(&self, name: &str, importer: &str) -> Result<(), BundleError> {
        self.document(name, importer).await.map(drop)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.cache_dir.join(format!("{}.json", name.replace('/', "+")))
    }

    async fn document(&self, name: &str, importer: &str) -> Result<Arc<Document>, BundleError> {
        if let Some(document) = self.fresh(name) {
            return Ok(document);
        }
        let flight = self.flights.lock().entry(name.to_owned()).or_default().clone();
        let only = flight.lock().await;
        let answer = match self.fresh(name) {
            Some(document) => Ok(document),
            None => self.ask(name, importer).await,
        };
        drop(only);
        self.flights.lock().remove(name);
        answer
    }

    fn fresh(&self, name: &str) -> Option<Arc<Document>> {
        self.documents
            .lock()
            .get(name)
            .filter(|(at, _)| at.elapsed() < self.max_age)
            .map(|(_, document)| document.clone())
    }

    async fn ask(&self, name: &str, importer: &str) -> Result<Arc<Document>, BundleError> {
        let file = self.file(name);
        let document = match (self.on_disk(&file).await, &self.outside) {
            (Some((document, true)), _) => document,
            (_, Outside::Asked(asker)) => {
                asker.document(name, importer).await?;
                let kept = self.on_disk(&file).await;
                kept.ok_or_else(|| {
                    failed(name, "its answer could not be kept; is there room on the disk?")
                })?
                .0
            }
            (kept, Outside::Http(http)) => match self.download(http, name, importer).await {
                Ok(document) => {
                    self.keep(&file, &document).await;
                    document
                }
                // An old answer is better than none while the registry is away.
                Err(error @ BundleError::Registry { .. }) => match kept {
                    Some((document, _)) => {
                        tracing::warn!(%error, "the registry does not answer; what it said of `{name}` before is used");
                        document
                    }
                    None => return Err(error),
                },
                Err(error) => return Err(error),
            },
        };
        let document = Arc::new(document);
        let mut documents = self.documents.lock();
        if documents.len() >= DOCUMENTS_MAX {
            documents.clear();
        }
        documents.insert(name.to_owned(), (Instant::now(), document.clone()));
        Ok(document)
    }

    async fn download(
        &self,
        http: &reqwest::Client,
        name: &str,
        importer: &str,
    ) -> Result<Document, BundleError> {
        let _place =
            self.questions.acquire().await.map_err(|_| failed(name, "the bundler is closed"))?;
        let address = format!("{}/{}", self.access.url(), name.replace('/', "%2f"));
        let bytes = self
            .get(
                http,
                name,
                &address,
                Some("application/vnd.npm.install-v1+json"),
                DOCUMENT_BYTES_MAX,
            )
            .await?
            .ok_or_else(|| BundleError::PackageNotFound {
                name: name.to_owned(),
                importer: importer.to_owned(),
            })?;
        millrace_model::json::from_slice(&bytes)
            .map_err(|e| failed(name, &format!("its answer cannot be read: {e}")))
    }

    /// A document on disk, and whether it is young enough.
    async fn on_disk(&self, file: &std::path::Path) -> Option<(Document, bool)> {
        let age = tokio::fs::metadata(file).await.ok()?.modified().ok()?.elapsed().ok()?;
        let document = millrace_model::json::from_slice(&tokio::fs::read(file).await.ok()?).ok()?;
        Some((document, age < self.max_age))
    }

    /// A document that cannot be kept is asked for again: no fault of the deploy.
    async fn keep(&self, file: &std::path::Path, document: &Document) {
        let Ok(bytes) = serde_json::to_vec(document) else { return };
        let part = file.with_extension(format!("{}.part", std::process::id()));
        let kept = async {
            tokio::fs::create_dir_all(&self.cache_dir).await?;
            tokio::fs::write(&part, bytes).await?;
            tokio::fs::rename(&part, file).await
        };
        if let Err(error) = kept.await {
            tracing::debug!(%error, "a registry document could not be kept");
        }
    }

    /// None where the registry says there is nothing.
    async fn get(
        &self,
        http: &reqwest::Client,
        name: &str,
        address: &str,
        accept: Option<&str>,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, BundleError> {
        let failed = |reason: String| BundleError::not_fetched(name, address, &reason);
        let mut request = http.get(address);
        if let Some(accept) = accept {
            request = request.header(ACCEPT, accept);
        }
        // A redirect to another origin is followed without it.
        if let Some(authorization) = self.access.authorization_for(address) {
            request = request.header(AUTHORIZATION, authorization);
        }
        let mut response = request.send().await.map_err(|e| failed(e.without_url().to_string()))?;
        match response.status().as_u16() {
            404 | 405 => return Ok(None),
            200..=299 => {}
            refused @ (401 | 403) => {
                let why = "it did not accept the server's credentials, which go to the origin of `--npm-registry` alone; check `--npm-token-file`, or the user and password in `--npm-registry`";
                return Err(failed(format!("it answered {refused}: {why}")));
            }
            other => return Err(failed(format!("it answered {other}"))),
        }
        let mut body = BoundedBody::new(bytes_max);
        while let Some(chunk) =
            response.chunk().await.map_err(|e| failed(e.without_url().to_string()))?
        {
            body.push(&chunk).map_err(|_| BundleError::TooLarge {
                what: format!("the package `{name}`"),
                bytes_max,
            })?;
        }
        Ok(Some(body.into_bytes()))
    }
}

fn failed(name: &str, reason: &str) -> BundleError {
    BundleError::Registry { name: name.to_owned(), reason: reason.to_owned() }
}

fn unsupported(name: &str, range: &str, importer: &str) -> BundleError {
    BundleError::Unsupported {
        specifier: format!("{name}@{range}"),
        importer: importer.to_owned(),
        reason: crate::specifier::not_of_registry(range).into(),
    }
}
