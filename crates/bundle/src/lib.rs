//! Component source to artifact: imports resolved, packages installed, one ES module out (`feasibility.md` compares the ways).
//!
//! Only this crate may name rolldown. Start at [`Bundler::bundle`].

mod author;
mod error;
mod packages;
mod plugin;
mod registry;
mod responds;
mod specifier;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rolldown::plugin::__inner::SharedPluginable;
use rolldown::{BundlerBuilder, BundlerOptions, CodeSplittingMode, InputItem, OutputFormat, Platform, SourceMapType};
use rolldown_common::Output;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::author::Author;
pub use crate::error::BundleError;
use crate::packages::Packages;
use crate::plugin::{ENTRY, MillracePlugin};
use crate::registry::Registry;

/// Bundles at once: a large one takes hundreds of megabytes.
const BUNDLES_MAX: usize = 2;
/// The largest bundle.
const BUNDLE_BYTES_MAX: usize = 32 << 20;

/// CommonJS dependencies need `require`, `__filename` and `__dirname`, which an ES module lacks. They are globals, so that
/// code which declares its own is not disturbed. One line: the source map is shifted by it.
const BANNER: &str = r#"import { createRequire as __millraceRequire } from "node:module"; globalThis.require ??= __millraceRequire(import.meta.url); globalThis.__filename ??= import.meta.filename ?? new URL(import.meta.url).pathname; globalThis.__dirname ??= globalThis.__filename.slice(0, globalThis.__filename.lastIndexOf("/"));"#;

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
}

/// Turns component source into artifacts.
#[derive(Clone)]
pub struct Bundler {
    packages: Arc<Packages>,
    http: reqwest::Client,
    places: Arc<Semaphore>,
    platform_modules: &'static [(&'static str, &'static str)],
}

/// Where the source is.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub struct BundleRequest {
    /// The source.
    pub entry: Entry,
    /// Versions to keep.
    pub lock: Option<Lock>,
}

/// Versions chosen: `name@range` to a version. The same source and lock give the same bundle.
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
#[derive(Clone, Debug)]
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
}

impl Bundler {
    /// A bundler with its caches on disk.
    pub fn new(config: BundlerConfig) -> Result<Self, BundleError> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("millrace/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(60))
            .redirect(reqwest::redirect::Policy::limited(5))
            .build()
            .map_err(|e| BundleError::Internal { what: "could not make an HTTP client", source: Box::new(e) })?;
        let registry = Registry::new(http.clone(), &config);
        Ok(Self {
            packages: Arc::new(Packages::new(registry, config.cache_dir.join("packages"))),
            http,
            places: Arc::new(Semaphore::new(BUNDLES_MAX)),
            platform_modules: config.platform_modules,
        })
    }

    /// Bundles a component.
    pub async fn bundle(&self, request: BundleRequest) -> Result<Bundle, BundleError> {
        let _place = self.places.acquire().await.map_err(|e| BundleError::Internal { what: "the bundler is closed", source: Box::new(e) })?;
        let author = Arc::new(Author::open(request.entry, self.http.clone()).await?);
        let entry_code = author.entry_code().to_owned();
        let plugin = Arc::new(MillracePlugin::new(author.clone(), self.packages.clone(), request.lock.unwrap_or_default(), self.platform_modules));
        let options = BundlerOptions {
            input: Some(vec![InputItem { name: Some("component".into()), import: ENTRY.into() }]),
            cwd: Some(self.packages.root().to_path_buf()),
            platform: Some(Platform::Node),
            format: Some(OutputFormat::Esm),
            sourcemap: Some(SourceMapType::Hidden),
            code_splitting: Some(CodeSplittingMode::Bool(false)),
            ..BundlerOptions::default()
        };
        let shared: SharedPluginable = plugin.clone();
        let mut bundler =
            BundlerBuilder::default().with_options(options).with_plugins(vec![shared]).build().map_err(|e| plugin.error(&author, e.into_vec()))?;
        let output = bundler.generate().await.map_err(|e| plugin.error(&author, e.into_vec()))?;
        let chunk = output
            .assets
            .iter()
            .find_map(|asset| match asset {
                Output::Chunk(chunk) => Some(chunk.clone()),
                Output::Asset(_) => None,
            })
            .ok_or_else(|| BundleError::Internal { what: "the bundler gave no module", source: "no chunk".into() })?;
        if chunk.code.len() > BUNDLE_BYTES_MAX {
            return Err(BundleError::TooLarge { what: "the bundle".into(), bytes_max: BUNDLE_BYTES_MAX });
        }
        let source_map = chunk.map.as_ref().map(|map| shifted(&map.to_json_string()));
        let uses_respond = author.texts().iter().any(|(path, text)| responds::calls_respond(path, text));
        Ok(Bundle { code: format!("{BANNER}\n{}", chunk.code), source_map, lock: plugin.lock(), entry_code, uses_respond, imports: plugin.imports() })
    }
}

/// A source map of code that has the banner's line before it.
fn shifted(map: &str) -> String {
    let Ok(mut map) = serde_json::from_str::<serde_json::Value>(map) else { return map.to_owned() };
    if let Some(mappings) = map.get("mappings").and_then(serde_json::Value::as_str) {
        let mappings = format!(";{mappings}");
        map["mappings"] = mappings.into();
    }
    map.to_string()
}
