//! The author's own files: given with the request, or fetched from beside the entry's address.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use crate::specifier::Bare;
use crate::{BundleError, Entry, tree};

/// A component's own files in all.
const BYTES_MAX: usize = 8 << 20;
/// How many files an address may lead to.
const FILES_MAX: usize = 500;

pub(crate) struct Author {
    /// Path below the root, or whole address.
    entry: String,
    entry_code: String,
    /// Texts by path or address; None: known not to be there.
    files: Mutex<BTreeMap<String, Option<String>>>,
    /// What the entry reaches: more may have been given.
    reached: Mutex<BTreeSet<String>>,
    http: Option<reqwest::Client>,
}

impl Author {
    pub(crate) async fn open(entry: Entry, http: reqwest::Client) -> Result<Self, BundleError> {
        match entry {
            Entry::Files { entry, files } => {
                if files.values().map(String::len).sum::<usize>() > BYTES_MAX {
                    return Err(BundleError::TooLarge { what: "the component".into(), bytes_max: BYTES_MAX });
                }
                let entry_code =
                    files.get(&entry).cloned().ok_or_else(|| BundleError::FileNotFound { specifier: entry.clone(), importer: "the request".into() })?;
                Ok(Self { entry, entry_code, files: Mutex::new(files.into_iter().map(|(k, v)| (k, Some(v))).collect()), reached: Mutex::default(), http: None })
            }
            Entry::Url { url } => {
                let address = raw_address(&url)?;
                let author =
                    Self { entry: address.to_string(), entry_code: String::new(), files: Mutex::default(), reached: Mutex::default(), http: Some(http) };
                let code = author.fetch(address.as_str()).await?.ok_or_else(|| BundleError::Fetch { url, reason: "there is nothing (404)".into() })?;
                author.files.lock().insert(author.entry.clone(), Some(code.clone()));
                Ok(Self { entry_code: code, ..author })
            }
        }
    }

    pub(crate) fn entry(&self) -> &str {
        &self.entry
    }

    pub(crate) fn entry_code(&self) -> &str {
        &self.entry_code
    }

    /// The text of a file that was resolved before.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = self.files.lock().get(path).cloned().flatten()?;
        self.reached.lock().insert(path.to_owned());
        Some(text)
    }

    /// The texts that the entry reaches.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let reached = self.reached.lock();
        let files = self.files.lock();
        reached.iter().filter_map(|path| files.get(path).cloned().flatten().map(|text| (path.clone(), text))).collect()
    }

    /// The range that the nearest `package.json` beside or above a file names for a package.
    pub(crate) fn declared(&self, package: &str, importer: &str) -> Option<String> {
        if self.http.is_some() {
            return None;
        }
        let files = self.files.lock();
        let mut folder = importer;
        loop {
            folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
            let path = if folder.is_empty() { "package.json".to_owned() } else { format!("{folder}/package.json") };
            let text = files.get(&path).and_then(Option::as_deref);
            if let Some(manifest) = text.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
                let range = |kind| manifest.get(kind)?.get(package)?.as_str();
                if let Some(range) = ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"].into_iter().find_map(range) {
                    return Some(range.to_owned());
                }
            }
            if folder.is_empty() {
                return None;
            }
        }
    }

    /// An app of the same checkout, imported by its package's name: `@pipedream/<app>` is `components/<app>`.
    pub(crate) async fn resolve_app(&self, bare: &Bare, importer: &str) -> Result<Option<String>, BundleError> {
        let Some(folder) = tree::app_folder(&bare.name, importer).filter(|_| bare.range.is_none()) else { return Ok(None) };
        if !bare.subpath.is_empty() {
            return self.first(&format!("{folder}{}", bare.subpath)).await;
        }
        let manifest = format!("{folder}/package.json");
        if self.exists(&manifest).await? {
            let text = self.files.lock().get(&manifest).cloned().flatten().unwrap_or_default();
            let main = serde_json::from_str::<Value>(&text).ok().and_then(|m| m.get("main").and_then(Value::as_str).map(str::to_owned));
            if let Some(main) = main
                && let Some(found) = self.first(&self.join(&main, &manifest)?).await?
            {
                return Ok(Some(found));
            }
        }
        for candidate in tree::app_files(&folder) {
            if self.exists(&candidate).await? {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// Resolves a relative import.
    pub(crate) async fn resolve(&self, specifier: &str, importer: &str) -> Result<String, BundleError> {
        let base = self.join(specifier, importer)?;
        self.first(&base).await?.ok_or_else(|| BundleError::FileNotFound { specifier: specifier.into(), importer: importer.into() })
    }

    /// The first file that a path without its ending may mean.
    async fn first(&self, base: &str) -> Result<Option<String>, BundleError> {
        for candidate in tree::candidates(base) {
            if self.exists(&candidate).await? {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    fn join(&self, specifier: &str, importer: &str) -> Result<String, BundleError> {
        let outside = || BundleError::Outside { specifier: specifier.into(), importer: importer.into() };
        if self.http.is_some() {
            let base = Url::parse(importer).map_err(|_| outside())?;
            let joined = base.join(specifier).map_err(|_| outside())?;
            return if joined.origin() == base.origin() { Ok(joined.to_string()) } else { Err(outside()) };
        }
        tree::join(specifier, importer).ok_or_else(outside)
    }

    async fn exists(&self, path: &str) -> Result<bool, BundleError> {
        if let Some(known) = self.files.lock().get(path) {
            return Ok(known.is_some());
        }
        if self.http.is_none() {
            return Ok(false);
        }
        let text = self.fetch(path).await?;
        let exists = text.is_some();
        self.files.lock().insert(path.to_owned(), text);
        Ok(exists)
    }

    async fn fetch(&self, url: &str) -> Result<Option<String>, BundleError> {
        let Some(http) = &self.http else { return Ok(None) };
        let failed = |reason: String| BundleError::Fetch { url: url.into(), reason };
        let (count, bytes) = {
            let files = self.files.lock();
            (files.len(), files.values().flatten().map(String::len).sum::<usize>())
        };
        if count >= FILES_MAX {
            return Err(failed(format!("the component leads to more than {FILES_MAX} files")));
        }
        let mut response = http.get(url).send().await.map_err(|e| failed(e.without_url().to_string()))?;
        if response.status() == reqwest::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !response.status().is_success() {
            return Err(failed(format!("the server answered {}", response.status())));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| failed(e.without_url().to_string()))? {
            body.extend_from_slice(&chunk);
            if bytes + body.len() > BYTES_MAX {
                return Err(BundleError::TooLarge { what: "the component".into(), bytes_max: BYTES_MAX });
            }
        }
        String::from_utf8(body).map(Some).map_err(|_| failed("it is not text".into()))
    }
}

/// An address of text: a page of a file on a code host is turned into the file itself.
fn raw_address(url: &str) -> Result<Url, BundleError> {
    let bad = |reason: &str| BundleError::Fetch { url: url.chars().take(200).collect(), reason: reason.into() };
    let mut address = Url::parse(url).map_err(|_| bad("it is not an address"))?;
    if !matches!(address.scheme(), "http" | "https") || address.host_str().is_none() {
        return Err(bad("allowed are http: and https: with a host"));
    }
    if address.host_str() == Some("github.com") {
        let parts: Vec<String> = address.path_segments().into_iter().flatten().map(str::to_owned).collect();
        if let [owner, repo, kind, rest @ ..] = parts.as_slice()
            && kind == "blob"
        {
            let path = format!("/{owner}/{repo}/{}", rest.join("/"));
            address.set_host(Some("raw.githubusercontent.com")).map_err(|_| bad("it is not an address"))?;
            address.set_path(&path);
        }
    }
    Ok(address)
}
