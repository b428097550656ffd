//! The npm registry: documents of packages (kept for a while) and archives (checked).

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nodejs_semver::{Range, Version};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha512};

use crate::{BundleError, BundlerConfig, LockedPackage};

/// The largest document and archive.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;
const ARCHIVE_BYTES_MAX: usize = 128 << 20;
/// Documents kept in memory.
const DOCUMENTS_MAX: usize = 500;

pub(crate) struct Registry {
    http: reqwest::Client,
    url: String,
    cache_dir: PathBuf,
    max_age: Duration,
    documents: Mutex<HashMap<String, (Instant, Arc<Document>)>>,
}

/// What the registry says of a package, in the short form that installers get.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Document {
    #[serde(rename = "dist-tags", default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    versions: BTreeMap<String, Release>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Release {
    dist: Dist,
}

#[derive(Debug, Serialize, Deserialize)]
struct Dist {
    tarball: String,
    #[serde(default)]
    integrity: Option<String>,
}

impl Registry {
    pub(crate) fn new(http: reqwest::Client, config: &BundlerConfig) -> Self {
        Self {
            http,
            url: config.registry_url.trim_end_matches('/').to_owned(),
            cache_dir: config.cache_dir.join("documents"),
            max_age: config.metadata_max_age,
            documents: Mutex::default(),
        }
    }

    /// The version that a range means, as npm chooses: the latest release if it fits, else the greatest that does.
    pub(crate) async fn choose(&self, name: &str, range: &str, importer: &str) -> Result<LockedPackage, BundleError> {
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
        let version = document.pick(&range).ok_or_else(|| BundleError::NoVersion {
            name: name.clone(),
            range: range.clone(),
            importer: importer.to_owned(),
            newest: document.tags.get("latest").cloned().unwrap_or_else(|| "none".into()),
        })?;
        let integrity = document.versions.get(&version).and_then(|r| r.dist.integrity.clone()).unwrap_or_default();
        Ok(LockedPackage { name, version, integrity })
    }

    /// The archive of a version, checked.
    pub(crate) async fn archive(&self, package: &LockedPackage) -> Result<Vec<u8>, BundleError> {
        let known = self.documents.lock().get(&package.name).map(|(_, document)| document.clone());
        let base = package.name.rsplit('/').next().unwrap_or(&package.name);
        let address = known
            .and_then(|d| d.versions.get(&package.version).map(|r| r.dist.tarball.clone()))
            .unwrap_or_else(|| format!("{}/{}/-/{base}-{}.tgz", self.url, package.name, package.version));
        let bytes = self.get(&package.name, &address, None, ARCHIVE_BYTES_MAX).await?.ok_or_else(|| failed(&package.name, "the archive is not there"))?;
        let named = format!("{}@{}", package.name, package.version);
        if let Some(expected) = package.integrity.split_whitespace().find_map(|i| i.strip_prefix("sha512-")) {
            if STANDARD.encode(Sha512::digest(&bytes)) != expected {
                return Err(BundleError::Integrity { package: named });
            }
        } else if !package.integrity.is_empty() && !package.integrity.starts_with("sha1-") {
            return Err(BundleError::Integrity { package: named });
        }
        Ok(bytes)
    }

    async fn document(&self, name: &str, importer: &str) -> Result<Arc<Document>, BundleError> {
        if let Some((at, document)) = self.documents.lock().get(name)
            && at.elapsed() < self.max_age
        {
            return Ok(document.clone());
        }
        let file = self.cache_dir.join(format!("{}.json", name.replace('/', "+")));
        let document = match self.on_disk(&file).await {
            Some(document) => document,
            None => {
                let address = format!("{}/{}", self.url, name.replace('/', "%2f"));
                let bytes = self
                    .get(name, &address, Some("application/vnd.npm.install-v1+json"), DOCUMENT_BYTES_MAX)
                    .await?
                    .ok_or_else(|| BundleError::PackageNotFound { name: name.to_owned(), importer: importer.to_owned() })?;
                let document: Document = serde_json::from_slice(&bytes).map_err(|e| failed(name, &format!("its answer cannot be read: {e}")))?;
                self.keep(&file, &document).await;
                document
            }
        };
        let document = Arc::new(document);
        let mut documents = self.documents.lock();
        if documents.len() >= DOCUMENTS_MAX {
            documents.clear();
        }
        documents.insert(name.to_owned(), (Instant::now(), document.clone()));
        Ok(document)
    }

    /// A document on disk that is young enough.
    async fn on_disk(&self, file: &std::path::Path) -> Option<Document> {
        let age = tokio::fs::metadata(file).await.ok()?.modified().ok()?.elapsed().ok()?;
        if age >= self.max_age {
            return None;
        }
        serde_json::from_slice(&tokio::fs::read(file).await.ok()?).ok()
    }

    /// A document that cannot be kept is asked for again: no fault of the deploy.
    async fn keep(&self, file: &std::path::Path, document: &Document) {
        let Ok(bytes) = serde_json::to_vec(document) else { return };
        let part = file.with_extension("part");
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
    async fn get(&self, name: &str, address: &str, accept: Option<&str>, bytes_max: usize) -> Result<Option<Vec<u8>>, BundleError> {
        let mut request = self.http.get(address);
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let mut response = request.send().await.map_err(|e| failed(name, &e.without_url().to_string()))?;
        match response.status().as_u16() {
            404 | 405 => return Ok(None),
            200..=299 => {}
            other => return Err(failed(name, &format!("it answered {other}"))),
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| failed(name, &e.without_url().to_string()))? {
            body.extend_from_slice(&chunk);
            if body.len() > bytes_max {
                return Err(BundleError::TooLarge { what: format!("the package `{name}`"), bytes_max });
            }
        }
        Ok(Some(body))
    }
}

impl Document {
    fn pick(&self, range: &str) -> Option<String> {
        let latest = self.tags.get("latest");
        if matches!(range, "" | "*" | "latest" | "x") && latest.is_some() {
            return latest.cloned();
        }
        if let Some(tagged) = self.tags.get(range) {
            return Some(tagged.clone());
        }
        if self.versions.contains_key(range) {
            return Some(range.to_owned());
        }
        let wanted = Range::parse(range).ok()?;
        let fits = |text: &str| Version::parse(text).ok().filter(|v| v.satisfies(&wanted));
        if let Some(latest) = latest.filter(|l| fits(l).is_some()) {
            return Some(latest.clone());
        }
        self.versions.keys().filter_map(|text| fits(text).map(|version| (version, text))).max_by(|a, b| a.0.cmp(&b.0)).map(|(_, text)| text.clone())
    }
}

fn failed(name: &str, reason: &str) -> BundleError {
    BundleError::Registry { name: name.to_owned(), reason: reason.to_owned() }
}

fn unsupported(name: &str, range: &str, importer: &str) -> BundleError {
    BundleError::Unsupported {
        specifier: format!("{name}@{range}"),
        importer: importer.to_owned(),
        reason: "only versions from the npm registry can be installed".into(),
    }
}
