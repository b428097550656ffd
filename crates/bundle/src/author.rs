//! The author's own files: given with the request, or fetched from beside the entry's address.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use url::Url;

use crate::{BundleError, Entry};

/// A component's own files in all.
const BYTES_MAX: usize = 8 << 20;
/// How many files an address may lead to.
const FILES_MAX: usize = 500;
/// What an import without an ending may mean.
const ENDINGS: &[&str] = &["", ".mjs", ".js", ".ts", ".cjs", ".json", ".mts", "/index.mjs", "/index.js", "/index.ts"];

pub(crate) struct Author {
    /// Path below the root, or whole address.
    entry: String,
    entry_code: String,
    /// Texts by path or address; None: known not to be there.
    files: Mutex<BTreeMap<String, Option<String>>>,
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
                Ok(Self { entry, entry_code, files: Mutex::new(files.into_iter().map(|(k, v)| (k, Some(v))).collect()), http: None })
            }
            Entry::Url { url } => {
                let address = raw_address(&url)?;
                let author = Self { entry: address.to_string(), entry_code: String::new(), files: Mutex::default(), http: Some(http) };
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
        self.files.lock().get(path).cloned().flatten()
    }

    /// All texts that were read.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        self.files.lock().iter().filter_map(|(path, text)| text.clone().map(|t| (path.clone(), t))).collect()
    }

    /// Resolves a relative import.
    pub(crate) async fn resolve(&self, specifier: &str, importer: &str) -> Result<String, BundleError> {
        let base = self.join(specifier, importer)?;
        let swapped = base.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        for candidate in ENDINGS.iter().map(|ending| format!("{base}{ending}")).chain(swapped) {
            if self.exists(&candidate).await? {
                return Ok(candidate);
            }
        }
        Err(BundleError::FileNotFound { specifier: specifier.into(), importer: importer.into() })
    }

    fn join(&self, specifier: &str, importer: &str) -> Result<String, BundleError> {
        let outside = || BundleError::Outside { specifier: specifier.into(), importer: importer.into() };
        if self.http.is_some() {
            let base = Url::parse(importer).map_err(|_| outside())?;
            let joined = base.join(specifier).map_err(|_| outside())?;
            return if joined.origin() == base.origin() { Ok(joined.to_string()) } else { Err(outside()) };
        }
        let mut parts: Vec<&str> = importer.split('/').collect();
        parts.pop();
        for part in specifier.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(outside)?;
                }
                name => parts.push(name),
            }
        }
        Ok(parts.join("/"))
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
