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
use serde_json::Value;
use sha2::{Digest as _, Sha512};
use tokio::sync::Semaphore;

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
/// Versions named in an error.
const KNOWN_MAX: usize = 5;

pub(crate) struct Registry {
    outside: Outside,
    url: String,
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
    /// It is made for certain systems or processors, so it holds machine code.
    pub(crate) is_for_some_machines: bool,
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
    // Text or flag, map or (in old packages) list: only looked at, never trusted to be well formed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    deprecated: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    engines: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    os: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    cpu: Value,
}

#[derive(Debug, Serialize, Deserialize)]
struct Dist {
    tarball: String,
    #[serde(default)]
    integrity: Option<String>,
}

impl Registry {
    pub(crate) fn new(outside: Outside, config: &BundlerConfig) -> Self {
        Self {
            outside,
            url: config.registry_url.trim_end_matches('/').to_owned(),
            cache_dir: config
                .cache_dir
                .join(DOCUMENTS)
                .join(config.registry_url.replace(|c: char| !c.is_ascii_alphanumeric(), "+")),
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
        let release = document.versions.get(&version);
        let integrity = release.and_then(|r| r.dist.integrity.clone()).unwrap_or_default();
        let is_for_some_machines = release.is_some_and(|r| !r.os.is_null() || !r.cpu.is_null());
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
            .and_then(|d| d.versions.get(&package.version).map(|r| r.dist.tarball.clone()))
            .unwrap_or_else(|| {
                format!("{}/{}/-/{base}-{}.tgz", self.url, package.name, package.version)
            });
        let Outside::Http(http) = &self.outside else {
            return Err(failed(&package.name, "this process fetches nothing"));
        };
        let bytes = self
            .get(http, &package.name, &address, None, ARCHIVE_BYTES_MAX)
            .await?
            .ok_or_else(|| failed(&package.name, "the archive is not there"))?;
        let named = format!("{}@{}", package.name, package.version);
        if let Some(expected) =
            package.integrity.split_whitespace().find_map(|i| i.strip_prefix("sha512-"))
        {
            if STANDARD.encode(Sha512::digest(&bytes)) != expected {
                return Err(BundleError::Integrity { package: named });
            }
        } else if !package.integrity.is_empty() && !package.integrity.starts_with("sha1-") {
            return Err(BundleError::Integrity { package: named });
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
        let address = format!("{}/{}", self.url, name.replace('/', "%2f"));
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
        serde_json::from_slice(&bytes)
            .map_err(|e| failed(name, &format!("its answer cannot be read: {e}")))
    }

    /// A document on disk, and whether it is young enough.
    async fn on_disk(&self, file: &std::path::Path) -> Option<(Document, bool)> {
        let age = tokio::fs::metadata(file).await.ok()?.modified().ok()?.elapsed().ok()?;
        let document = serde_json::from_slice(&tokio::fs::read(file).await.ok()?).ok()?;
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
            request = request.header("accept", accept);
        }
        let mut response = request.send().await.map_err(|e| failed(e.without_url().to_string()))?;
        match response.status().as_u16() {
            404 | 405 => return Ok(None),
            200..=299 => {}
            other => return Err(failed(format!("it answered {other}"))),
        }
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|e| failed(e.without_url().to_string()))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > bytes_max {
                return Err(BundleError::TooLarge {
                    what: format!("the package `{name}`"),
                    bytes_max,
                });
            }
        }
        Ok(Some(body))
    }
}

impl Document {
    /// As npm picks: a tag, an exact version, `latest` where it fits, else the greatest that fits;
    /// one that wants another Node or is deprecated only where there is no better. A bare import
    /// means any release up to `latest`.
    fn pick(&self, range: &str, node: Option<&Version>) -> Option<String> {
        let range = range.trim();
        let latest = self.tags.get("latest");
        let is_bare = matches!(range, "" | "*" | "latest" | "x");
        if !is_bare {
            if let Some(tagged) = self.tags.get(range) {
                return Some(tagged.clone());
            }
            if self.versions.contains_key(range) {
                return Some(range.to_owned());
            }
        }
        let wanted = if is_bare { Alternatives::any() } else { Alternatives::parse(range) };
        let runs = |release: &Release| node.is_none_or(|node| release.runs_on(node));
        let is_kept =
            |release: &Release| release.deprecated.is_null() || release.deprecated == false;
        if let Some(latest) = latest
            && (is_bare || wanted.take(latest))
            && self
                .versions
                .get(latest)
                .is_some_and(|release| runs(release) && (is_bare || is_kept(release)))
        {
            return Some(latest.clone());
        }
        let newest = latest.filter(|_| is_bare).and_then(|latest| Version::parse(latest).ok());
        let fitting = self.versions.iter().filter(|(text, _)| wanted.take(text));
        let best = fitting
            .filter_map(|(text, release)| {
                Version::parse(text).ok().map(|version| (release, version, text))
            })
            .max_by_key(|(release, version, _)| {
                (
                    runs(release),
                    newest.as_ref().is_none_or(|newest| version <= newest),
                    is_kept(release),
                    version.clone(),
                )
            });
        // Where nothing runs, the error is about the release that was meant.
        match best {
            Some((release, _, text)) if runs(release) || !is_bare => Some(text.clone()),
            best => latest.filter(|_| is_bare).or(best.map(|(_, _, text)| text)).cloned(),
        }
    }

    /// Some versions in words, the newest first.
    fn known(&self) -> String {
        let mut versions: Vec<Version> =
            self.versions.keys().filter_map(|text| Version::parse(text).ok()).collect();
        versions.sort_unstable_by(|a, b| b.cmp(a));
        let more = if versions.len() > KNOWN_MAX { ", …" } else { "" };
        let named: Vec<String> =
            versions.iter().take(KNOWN_MAX).map(|v| format!("`{v}`")).collect();
        if named.is_empty() { "none".into() } else { format!("{}{more}", named.join(", ")) }
    }
}

impl Release {
    fn runs_on(&self, node: &Version) -> bool {
        runs_on(&self.engines, node)
    }
}

/// Whether `engines` of a manifest include a Node. A range that cannot be read includes all.
fn runs_on(engines: &Value, node: &Version) -> bool {
    wanted_node(engines).is_none_or(|(range, _)| node.satisfies(&range))
}

/// The Node range of a manifest's `engines`, where the Node in use is older than the newest that it
/// names. A package that only names old ones is not stopped by it: npm warns, and it mostly runs.
pub(crate) fn wants_newer(engines: &Value, node: &Version) -> Option<String> {
    let (range, text) = wanted_node(engines)?;
    let newer = Range::parse(format!(">{node}")).ok()?;
    (!node.satisfies(&range) && range.allows_any(&newer)).then_some(text)
}

fn wanted_node(engines: &Value) -> Option<(Range, String)> {
    let text = engines.get("node").and_then(Value::as_str)?;
    Some((Range::parse(text).ok()?, text.to_owned()))
}

/// A range as npm reads it: alternatives between `||`, of each of which all parts must hold. The
/// parser alone takes one of the parts where they exclude each other (`^6 ^7`).
struct Alternatives {
    ranges: Vec<Range>,
    /// Whether an alternative has parts that exclude each other.
    excluding: bool,
}

impl Alternatives {
    fn any() -> Self {
        Self { ranges: vec![Range::any()], excluding: false }
    }

    fn parse(text: &str) -> Self {
        let (mut ranges, mut excluding) = (Vec::new(), false);
        for alternative in text.split("||") {
            let parts = parts_of(alternative);
            let read = Range::parse(alternative).ok();
            let all = match parts.as_slice() {
                [] | [_] => read,
                parts => {
                    let mut parts = parts.iter().map(|part| Range::parse(part).ok());
                    let first = parts.next().flatten();
                    let held = parts.fold(first, |held, part| held?.intersect(&part?));
                    excluding |= held.is_none() && read.is_some();
                    held.and(read)
                }
            };
            ranges.extend(all);
        }
        Self { ranges, excluding }
    }

    fn take(&self, version: &str) -> bool {
        Version::parse(version)
            .is_ok_and(|version| self.ranges.iter().any(|range| version.satisfies(range)))
    }

    /// What a refusal adds about the range itself.
    const fn hint(&self) -> &'static str {
        if self.excluding {
            " (what stands side by side in a range must all hold; `||` stands between alternatives)"
        } else {
            ""
        }
    }
}

/// The comparators of an alternative, operators with what follows them; one where it is a range
/// with a hyphen.
fn parts_of(alternative: &str) -> Vec<String> {
    if alternative.contains(" - ") {
        return vec![alternative.to_owned()];
    }
    let mut parts: Vec<String> = Vec::new();
    for word in alternative.split_whitespace() {
        match parts.last_mut().filter(|last| last.ends_with(['<', '>', '=', '~', '^'])) {
            Some(last) => last.push_str(word),
            None => parts.push(word.to_owned()),
        }
    }
    parts
}

/// Whether a version chosen for somebody else serves this range as well.
pub(crate) fn serves(version: &str, range: &str) -> bool {
    Alternatives::parse(range).take(version)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_picked_as_npm_picks_them() {
        let document: Document = serde_json::from_value(serde_json::json!({
            "dist-tags": { "latest": "2.1.0", "next": "3.0.0-rc.1" },
            "versions": {
                "1.0.0": { "dist": { "tarball": "" } },
                "1.1.0": { "dist": { "tarball": "" }, "engines": { "node": ">= 6" } },
                "1.2.0": { "dist": { "tarball": "" }, "engines": { "node": ">= 99" } },
                "1.3.0": { "dist": { "tarball": "" }, "deprecated": "broken" },
                "2.1.0": { "dist": { "tarball": "" }, "engines": ["node"] },
                "2.2.0": { "dist": { "tarball": "" } },
                "3.0.0-rc.1": { "dist": { "tarball": "" } },
            },
        }))
        .expect("a document");
        let node = Version::parse("20.20.2").expect("a version");
        for (range, expected) in [
            ("", Some("2.1.0")),
            ("latest", Some("2.1.0")),
            ("^2", Some("2.1.0")),
            ("^1", Some("1.1.0")),
            ("~1.2", Some("1.2.0")),
            ("1.3.0", Some("1.3.0")),
            ("next", Some("3.0.0-rc.1")),
            ("^1 || ^3", Some("1.1.0")),
            ("^3", None),
            ("nonsense", None),
            ("^1 ^2", None),
            ("^1 ^2 || ^3", None),
            ("^1 ^2 || ~2.1", Some("2.1.0")),
            (">=1 <2", Some("1.1.0")),
            (">= 1 < 2", Some("1.1.0")),
            (">1.0.0 <=1.1.0", Some("1.1.0")),
            ("1.0.0 - 1.1.0", Some("1.1.0")),
            ("^1 || nonsense", Some("1.1.0")),
            (">=3.0.0-rc.0 <4", Some("3.0.0-rc.1")),
            ("~1.1 ^1", Some("1.1.0")),
        ] {
            assert_eq!(document.pick(range, Some(&node)).as_deref(), expected, "{range}");
        }
        assert_eq!(document.known(), "`3.0.0-rc.1`, `2.2.0`, `2.1.0`, `1.3.0`, `1.2.0`, …");
    }

    #[test]
    fn bare_imports_take_the_newest_release_that_runs_on_the_node_in_use() {
        let release = |engines: serde_json::Value| serde_json::json!({ "dist": { "tarball": "" }, "engines": engines });
        let document: Document = serde_json::from_value(serde_json::json!({
            "dist-tags": { "latest": "10.2.1", "next": "11.0.0" },
            "versions": {
                "8.0.1": release(serde_json::json!({ "node": ">=16.17" })),
                "9.5.3": release(serde_json::json!({ "node": "^18.19.0 || >=20.5.0" })),
                "9.6.0-rc.1": release(serde_json::json!({ "node": "^18.19.0 || >=20.5.0" })),
                "10.2.1": release(serde_json::json!({ "node": ">=22" })),
                "11.0.0": release(serde_json::json!({ "node": ">=18" })),
            },
        }))
        .expect("a document");
        for (node, range, expected) in [
            ("20.20.2", "", "9.5.3"),
            ("20.20.2", "*", "9.5.3"),
            ("20.20.2", "latest", "9.5.3"),
            ("20.20.2", ">=8 <11", "9.5.3"),
            ("18.0.0", "", "8.0.1"),
            ("22.1.0", "", "10.2.1"),
            ("22.1.0", ">=8", "10.2.1"),
            ("20.20.2", ">=9", "11.0.0"),
            ("20.20.2", "^10", "10.2.1"),
            ("20.20.2", "10.2.1", "10.2.1"),
            ("12.0.0", "", "10.2.1"),
        ] {
            let node = Version::parse(node).expect("a version");
            assert_eq!(
                document.pick(range, Some(&node)).as_deref(),
                Some(expected),
                "{range} on {node}"
            );
        }
    }

    #[test]
    fn only_a_node_older_than_wanted_is_told() {
        let node = Version::parse("20.20.2").expect("a version");
        let wants = |range: &str| wants_newer(&serde_json::json!({ "node": range }), &node);
        assert_eq!(wants(">=22").as_deref(), Some(">=22"));
        assert_eq!(wants("^22.12 || >=24").as_deref(), Some("^22.12 || >=24"));
        for runs in [">=18", "*", "^0.8.0", "0.10 || 0.12", "no range"] {
            assert_eq!(wants(runs), None, "{runs}");
        }
    }
}
