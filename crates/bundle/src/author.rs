//! Entry files of an author: given with the request, or fetched from beside the entry's address.

use std::collections::{BTreeMap, BTreeSet};

use millrace_model::own_files::problem_of_part;
use millrace_model::tsconfig::Tsconfig;
use oxc_span::SourceType;
use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use crate::error::unsupported;
use crate::language::{is_typescript, kind_of, with_jsx_where_needed};
use crate::overrides::Overrides;
use crate::own_package;
use crate::remote_files::{RemoteFiles, raw_address};
use crate::specifier::Bare;
use crate::{BundleError, Entry, tree};

/// A component's own files in all.
pub(crate) const BYTES_MAX: usize = 8 << 20;

/// A text without its byte order mark, which no parser of JSON takes.
fn without_mark(text: String) -> String {
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// A `package.json`, an object; else what is wrong with it.
fn manifest_of(text: &str) -> Result<Value, String> {
    match millrace_model::json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        Ok(manifest @ Value::Object(_)) => Ok(manifest),
        Ok(_) => Err("it is JSON, but not an object".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

/// Whether a path names its language.
pub(crate) fn has_ending(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".mjs", ".js", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// What an import of the author's own package stands for.
pub(crate) enum OwnName {
    /// The path of a file.
    File(String),
    /// The specifier of another package.
    Package(String),
}

pub(crate) struct Author {
    /// Path below the root, or whole address.
    entry: String,
    entry_code: String,
    /// Whether the entry was said to be JavaScript.
    is_javascript: bool,
    /// Texts by path or address; None: known not to be there.
    files: Mutex<BTreeMap<String, Option<String>>>,
    /// What the entry reaches: more may have been given.
    reached: Mutex<BTreeSet<String>>,
    /// Where the entry is an address.
    pages: Option<RemoteFiles>,
}

impl Author {
    pub(crate) async fn open(entry: Entry, pages: RemoteFiles) -> Result<Self, BundleError> {
        match entry {
            Entry::Files { mut entry, mut files, is_javascript } => {
                if files.values().map(String::len).sum::<usize>() > BYTES_MAX {
                    return Err(BundleError::TooLarge {
                        what: "the component".into(),
                        bytes_max: BYTES_MAX,
                    });
                }
                if !has_ending(&entry)
                    && let Some(code) = files.remove(&entry)
                {
                    entry.push_str(if is_typescript(&code) { ".ts" } else { ".mjs" });
                    files.insert(entry.clone(), code);
                }
                let entry_code =
                    files.get(&entry).cloned().ok_or_else(|| BundleError::FileNotFound {
                        specifier: entry.clone(),
                        importer: "the request".into(),
                    })?;
                Ok(Self {
                    entry,
                    entry_code,
                    is_javascript,
                    files: Mutex::new(
                        files
                            .into_iter()
                            .map(|(path, text)| (path, Some(without_mark(text))))
                            .collect(),
                    ),
                    reached: Mutex::default(),
                    pages: None,
                })
            }
            Entry::Url { url } => {
                let address = raw_address(&url)?;
                let author = Self {
                    entry: address.to_string(),
                    entry_code: String::new(),
                    is_javascript: false,
                    files: Mutex::default(),
                    reached: Mutex::default(),
                    pages: Some(pages.clone()),
                };
                let code = pages.fetch(address.as_str()).await?.ok_or_else(|| {
                    BundleError::Fetch { url, reason: "there is nothing (404)".into() }
                })?;
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

    /// The language of a file: by its ending at `address`, which is its path or the last of it, and
    /// what its text is.
    pub(crate) fn kind_of(&self, path: &str, address: &str, code: &str) -> SourceType {
        // What was said to be JavaScript is not read as something else.
        if self.is_javascript && path == self.entry {
            with_jsx_where_needed(SourceType::mjs(), code)
        } else {
            kind_of(address, code)
        }
    }

    /// The options of the nearest `tsconfig.json` beside or above a file, with those of the
    /// author's files that it extends.
    pub(crate) fn tsconfig(&self, path: &str) -> Option<Tsconfig> {
        let files = self.files.lock();
        let text_of = |path: &str| files.get(path).cloned().flatten();
        let (config, text) = self.upwards(path, "tsconfig.json").into_iter().find_map(|path| {
            let text = text_of(&path)?;
            Some((path, text))
        })?;
        Some(Tsconfig::read(&config, &text, &mut |extended| text_of(extended)))
    }

    /// The paths of a name beside and above a file, the nearest first; none at an address.
    fn upwards(&self, file: &str, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folder = file;
        while self.pages.is_none() {
            folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
            if folder.is_empty() {
                found.push(name.to_owned());
                break;
            }
            found.push(format!("{folder}/{name}"));
        }
        found
    }

    /// The text of a file that was resolved before.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = self.files.lock().get(path).cloned().flatten()?;
        self.reached.lock().insert(path.to_owned());
        Some(text)
    }

    /// Whether its files were given, and are not at an address.
    pub(crate) fn is_given(&self) -> bool {
        self.pages.is_none()
    }

    /// The code that was given, or is at the entry's address.
    pub(crate) fn given(&self) -> Vec<(String, String)> {
        let files = self.files.lock();
        files
            .iter()
            .filter(|(path, _)| {
                !path.ends_with(".json") && (has_ending(path) || **path == self.entry)
            })
            .filter_map(|(path, text)| Some((path.clone(), text.clone()?)))
            .collect()
    }

    /// The texts that the entry reaches.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let reached = self.reached.lock();
        let files = self.files.lock();
        reached
            .iter()
            .filter_map(|path| files.get(path).cloned().flatten().map(|text| (path.clone(), text)))
            .collect()
    }

    /// The files that lie beside the bundle where code of these files depends on where it lies:
    /// those of their apps in a tree of components, else all that were given. What is at an address
    /// has nothing beside it that could be listed.
    pub(crate) fn around(&self, readers: &BTreeSet<String>) -> BTreeMap<String, String> {
        if self.pages.is_some() || readers.is_empty() {
            return BTreeMap::new();
        }
        let apps: Vec<&str> = readers.iter().filter_map(|path| tree::app_of(path)).collect();
        let is_tree = apps.len() == readers.len();
        let files = self.files.lock();
        files
            .iter()
            .filter(|(path, _)| {
                !is_tree || tree::app_of(path).is_none_or(|app| apps.contains(&app))
            })
            .filter(|(path, _)| path.split('/').all(|part| problem_of_part(part).is_none()))
            .filter_map(|(path, text)| Some((path.clone(), text.clone()?)))
            .collect()
    }

    /// The range of an import: its own, else the one that is declared.
    pub(crate) fn range(&self, bare: &Bare, importer: &str) -> Option<String> {
        bare.range.clone().or_else(|| self.declared(&bare.name, importer))
    }

    /// The range that the nearest `package.json` beside or above a file names for a package.
    pub(crate) fn declared(&self, package: &str, importer: &str) -> Option<String> {
        self.manifests(importer).iter().find_map(|(_, manifest)| {
            let manifest = manifest.as_ref().ok()?;
            let range = |kind| manifest.get(kind)?.get(package)?.as_str();
            ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"]
                .into_iter()
                .find_map(range)
                .map(|range| range.trim().to_owned())
        })
    }

    /// Whether the nearest `package.json` beside or above a file calls code that ends in `.js` an
    /// ES module.
    pub(crate) fn is_module(&self, path: &str) -> bool {
        let manifests = self.manifests(path);
        let nearest = manifests.first().and_then(|(_, manifest)| manifest.as_ref().ok());
        nearest.is_some_and(|manifest| manifest["type"] == "module")
    }

    /// What is prescribed for packages that others import, by the nearest `package.json` beside or
    /// above the entry that prescribes anything: a member of a workspace leaves that to its root.
    pub(crate) fn overrides(&self) -> Overrides {
        let manifests = self.manifests(&self.entry);
        let mut read = manifests.iter().filter_map(|(_, manifest)| manifest.as_ref().ok());
        read.find(|manifest| Overrides::FIELDS.iter().any(|field| manifest.get(field).is_some()))
            .map(Overrides::of)
            .unwrap_or_default()
    }

    /// Refuses a `package.json` beside or above the entry that cannot be read: the versions that it
    /// names would be passed over.
    pub(crate) fn check_manifests(&self) -> Result<(), BundleError> {
        match self
            .manifests(&self.entry)
            .into_iter()
            .find_map(|(path, manifest)| Some((path, manifest.err()?)))
        {
            Some((path, reason)) => Err(BundleError::Manifest { path, reason }),
            None => Ok(()),
        }
    }

    /// Each `package.json` beside or above a file, the nearest first, or what is wrong with it.
    fn manifests(&self, importer: &str) -> Vec<(String, Result<Value, String>)> {
        let files = self.files.lock();
        let read = |path: String| {
            let manifest = manifest_of(files.get(&path)?.as_deref()?);
            Some((path, manifest))
        };
        self.upwards(importer, "package.json").into_iter().filter_map(read).collect()
    }

    /// What a specifier stands for in the nearest `package.json` beside or above a file: a file of
    /// the author's, by its path, or another package's name. None where it says nothing of it.
    pub(crate) async fn resolve_own_name(
        &self,
        specifier: &str,
        importer: &str,
        is_require: bool,
    ) -> Result<Option<OwnName>, BundleError> {
        let manifests = self.manifests(importer);
        let nearest = manifests.first();
        let manifest = nearest.and_then(|(_, manifest)| manifest.as_ref().ok());
        let Some(target) = own_package::target(manifest, specifier, is_require) else {
            return Ok(None);
        };
        let of = nearest.map_or("package.json", |(path, _)| path);
        let Some(target) = target else {
            let list = if specifier.starts_with('#') { "imports" } else { "exports" };
            let why = format!("`{list}` of a `{of}` beside or above it has no such name");
            return Err(unsupported(specifier, importer, &why));
        };
        if !target.starts_with("./") {
            return Ok(Some(OwnName::Package(target)));
        }
        let path = self.join(&target, of)?;
        if self.exists(&path).await? {
            return Ok(Some(OwnName::File(path)));
        }
        Err(BundleError::FileNotFound {
            specifier: path,
            importer: format!("`{of}`, for {importer},"),
        })
    }

    /// An app of the same checkout, imported by its package's name: `@pipedream/<app>` is
    /// `components/<app>`.
    pub(crate) async fn resolve_app(
        &self,
        bare: &Bare,
        importer: &str,
    ) -> Result<Option<String>, BundleError> {
        let Some(folder) = tree::app_folder(&bare.name, importer).filter(|_| bare.range.is_none())
        else {
            return Ok(None);
        };
        if !bare.subpath.is_empty() {
            return self.first(&format!("{folder}{}", bare.subpath)).await;
        }
        let manifest = format!("{folder}/package.json");
        if self.exists(&manifest).await? {
            let text = self.files.lock().get(&manifest).cloned().flatten().unwrap_or_default();
            let main = millrace_model::json::from_str::<Value>(&text)
                .ok()
                .and_then(|m| m.get("main").and_then(Value::as_str).map(str::to_owned));
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
    pub(crate) async fn resolve(
        &self,
        specifier: &str,
        importer: &str,
    ) -> Result<String, BundleError> {
        let base = self.join(specifier, importer)?;
        self.first(&base).await?.ok_or_else(|| BundleError::FileNotFound {
            specifier: specifier.into(),
            importer: importer.into(),
        })
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
        let outside =
            || BundleError::Outside { specifier: specifier.into(), importer: importer.into() };
        if self.pages.is_some() {
            let base = Url::parse(importer).map_err(|_| outside())?;
            let joined = base.join(specifier).map_err(|_| outside())?;
            return if joined.origin() == base.origin() {
                Ok(joined.to_string())
            } else {
                Err(outside())
            };
        }
        tree::join(specifier, importer).ok_or_else(outside)
    }

    async fn exists(&self, path: &str) -> Result<bool, BundleError> {
        if let Some(known) = self.files.lock().get(path) {
            return Ok(known.is_some());
        }
        let Some(pages) = &self.pages else { return Ok(false) };
        let text = pages.fetch(path).await?.map(without_mark);
        let exists = text.is_some();
        self.files.lock().insert(path.to_owned(), text);
        Ok(exists)
    }
}
