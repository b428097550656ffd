//! Bundle job, executed in this process.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use millrace_model::component::Beside;
use millrace_model::egress::Shared;
use rolldown::BundlerBuilder;
use rolldown::plugin::__inner::SharedPluginable;
use rolldown_common::{BundlerTransformOptions, Output, OutputChunk};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::{JoinError, JoinHandle};

use crate::author::Author;
use crate::bundler_helpers;
use crate::class_names::with_own_names;
use crate::dependencies::{From, version};
use crate::kinds::{check_given, lowered};
use crate::names::{Names, names};
use crate::options::options;
use crate::own_files::{self, OWN_BANNER, OWN_FILES_MAX};
use crate::package_closure::{Root, folder_of, placed};
use crate::packages::Packages;
use crate::plugin::MillracePlugin;
use crate::reach::{self, Reach};
use crate::registry::{Outside, Registry};
use crate::remote_files::RemoteFiles;
use crate::specifier::{Bare, is_builtin};
use crate::unpack::remove_left;
use crate::worker::Asker;
use crate::{
    BUNDLES_MAX, Bundle, BundleError, BundleRequest, BundlerConfig, Lock, LockedPackage, extract,
    responds, typescript,
};

/// Parsers and printers of code call themselves once per level of nesting. Only addresses are
/// reserved, not memory.
pub(crate) const STACK_BYTES: usize = 256 << 20;
/// Threads that read files: their stacks are as deep.
pub(crate) const BLOCKING_MAX: usize = 4;
/// The largest bundle.
const BUNDLE_BYTES_MAX: usize = 32 << 20;

/// CommonJS dependencies need `require`, `__filename` and `__dirname`, which an ES module lacks.
/// They are globals, so that code which declares its own is not disturbed. One line: the source map
/// is shifted by it.
const BANNER: &str = r#"import { createRequire as __millraceRequire } from "node:module"; globalThis.require ??= __millraceRequire(import.meta.url); globalThis.__filename ??= import.meta.filename ?? new URL(import.meta.url).pathname; globalThis.__dirname ??= globalThis.__filename.slice(0, globalThis.__filename.lastIndexOf("/"));"#;

/// Packages, and threads of our own: bundling is long computing on deep stacks, which other threads
/// must not do.
pub(crate) struct Workshop {
    packages: Arc<Packages>,
    egress: Shared,
    platform_modules: &'static [(&'static str, &'static str)],
    node_version: String,
    threads: Option<Runtime>,
}

impl Workshop {
    /// One that fetches by itself.
    pub(crate) fn open(config: &BundlerConfig) -> Result<Self, BundleError> {
        remove_left(&config.cache_dir);
        Self::with(config, Outside::Http(reach::http()?))
    }

    /// One that another process fetches for: this one needs no connections.
    pub(crate) fn closed(config: &BundlerConfig, asker: Arc<Asker>) -> Result<Self, BundleError> {
        Self::with(config, Outside::Asked(asker))
    }

    fn with(config: &BundlerConfig, outside: Outside) -> Result<Self, BundleError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .worker_threads(BUNDLES_MAX)
            .max_blocking_threads(BLOCKING_MAX)
            .thread_stack_size(STACK_BYTES)
            .thread_name("millrace-bundle")
            .enable_time();
        if matches!(outside, Outside::Http(_)) {
            builder.enable_io();
        }
        let threads = builder.build().map_err(|e| BundleError::Internal {
            what: "could not start threads",
            source: Box::new(e),
        })?;
        let packages = Packages::new(Registry::new(outside, config), &config.cache_dir);
        Ok(Self {
            packages: Arc::new(packages),
            egress: config.egress.clone(),
            platform_modules: config.platform_modules,
            node_version: config.node_version.clone(),
            threads: Some(threads),
        })
    }

    /// Bundles, and waits for it: for a thread that has nothing else to do.
    pub(crate) fn bundle_blocking(&self, request: BundleRequest) -> Result<Bundle, BundleError> {
        let threads = self.threads.as_ref().ok_or_else(|| BundleError::Internal {
            what: "the bundler is closed",
            source: "no threads".into(),
        })?;
        threads.block_on(self.bundle(request))
    }

    fn pages(&self) -> RemoteFiles {
        match self.packages.asker() {
            Some(asker) => RemoteFiles::Asked(asker.clone()),
            None => RemoteFiles::own(Reach::new(self.egress.get())),
        }
    }

    pub(crate) async fn install(
        &self,
        packages: &[(String, LockedPackage)],
    ) -> Result<(), BundleError> {
        for (import_name, package) in packages {
            self.packages.install(import_name, package).await?;
        }
        Ok(())
    }

    pub(crate) async fn bundle(&self, request: BundleRequest) -> Result<Bundle, BundleError> {
        let job = Job {
            packages: self.packages.clone(),
            pages: self.pages(),
            platform_modules: self.platform_modules,
            node_version: self.node_version.clone(),
        };
        let threads = self.threads.as_ref().ok_or_else(|| BundleError::Internal {
            what: "the bundler is closed",
            source: "no threads".into(),
        })?;
        let work = Owned(threads.spawn(async move { job.run(request).await }));
        // A panic of the bundler ends one bundle.
        work.await.map_err(|e| BundleError::Internal {
            what: "the bundler broke down",
            source: Box::new(e),
        })?
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Waiting is not allowed where this may happen: in an async task.
        if let Some(runtime) = self.threads.take() {
            runtime.shutdown_background();
        }
    }
}

/// Work that ends with the one who waits for it.
struct Owned<T>(JoinHandle<T>);

impl<T> Future for Owned<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether code surely loads a package, and no deploy is right without it.
type IsSure = bool;

/// One bundle's making.
struct Job {
    packages: Arc<Packages>,
    pages: RemoteFiles,
    platform_modules: &'static [(&'static str, &'static str)],
    node_version: String,
}

impl Job {
    fn plugin(&self, author: &Arc<Author>, before: Lock) -> Arc<MillracePlugin> {
        Arc::new(MillracePlugin::new(
            author.clone(),
            self.packages.clone(),
            before,
            self.platform_modules,
        ))
    }

    async fn generate(
        &self,
        plugin: &Arc<MillracePlugin>,
        lowered: Option<BundlerTransformOptions>,
    ) -> Result<Arc<OutputChunk>, BundleError> {
        let shared: SharedPluginable = plugin.clone();
        let options = options(self.packages.root().to_path_buf(), lowered, &self.node_version);
        let mut bundler = BundlerBuilder::default()
            .with_options(options)
            .with_plugins(vec![shared])
            .build()
            .map_err(|e| plugin.error(e.into_vec()))?;
        let output = Owned(tokio::spawn(async move { bundler.generate().await }))
            .await
            .map_err(|e| BundleError::Internal {
                what: "the bundler broke down",
                source: Box::new(e),
            })?
            .map_err(|e| plugin.error(e.into_vec()))?;
        let mut chunks = output.assets.iter().filter_map(|asset| match asset {
            Output::Chunk(chunk) => Some(chunk.clone()),
            Output::Asset(_) => None,
        });
        let chunk = chunks.next().ok_or_else(|| BundleError::Internal {
            what: "the bundler gave no module",
            source: "no chunk".into(),
        })?;
        if chunk.code.len() > BUNDLE_BYTES_MAX {
            return Err(BundleError::TooLarge {
                what: "the bundle".into(),
                bytes_max: BUNDLE_BYTES_MAX,
            });
        }
        Ok(chunk)
    }

    /// What cannot be bundled: packages whose code depends on where it lies, and those that the
    /// author's code names as it runs.
    async fn beside(
        &self,
        author: &Author,
        plugin: &MillracePlugin,
    ) -> Result<Option<Beside>, BundleError> {
        let mut roots: BTreeMap<String, Root> = plugin.readers();
        let texts: Vec<(String, Names)> = author
            .texts()
            .iter()
            .filter(|(path, _)| !path.ends_with(".json"))
            .map(|(path, text)| (path.clone(), names(path, text)))
            .collect();
        let loose = own_files::loose(&author.around(&plugin.own_readers()), &plugin.own_readers());
        let mut wanted: Vec<(&str, Bare, IsSure)> = Vec::new();
        // Code that is loaded as it lies, not bundled, finds its packages there, too.
        wanted.extend(
            loose.iter().filter_map(|(path, specifier)| {
                Some((path.as_str(), package_of(specifier)?, true))
            }),
        );
        for (path, named) in &texts {
            wanted.extend(
                named
                    .loaded
                    .iter()
                    .filter_map(|specifier| Some((path.as_str(), package_of(specifier)?, true))),
            );
            wanted.extend(
                named
                    .begun
                    .iter()
                    .filter_map(|name| Some((path.as_str(), package_of(name)?, false))),
            );
        }
        // What an installed package finds in Node only because the author, or another package,
        // brought it.
        let begun = plugin.begun();
        roots.extend(plugin.homes_of(&begun));
        if !roots.is_empty()
            || !wanted.is_empty()
            || texts.iter().any(|(_, named)| named.loads_made)
        {
            // A name that is handed to a package, such as that of a transport, or to a function
            // that loads what it is given.
            for (path, named) in &texts {
                let known = |bare: &Bare| {
                    plugin.direct.lock().contains_key(&bare.name)
                        || author.declared(&bare.name, path).is_some()
                };
                wanted.extend(
                    named
                        .texts
                        .iter()
                        .filter_map(|text| package_of(text))
                        .filter(known)
                        .map(|bare| (path.as_str(), bare, true)),
                );
            }
        }
        for (path, bare, is_sure) in
            wanted.into_iter().filter(|(_, bare, _)| plugin.our_module(bare).is_none())
        {
            let direct =
                plugin.direct.lock().get(&bare.name).cloned().filter(|_| bare.range.is_none());
            let package = match direct {
                Some(package) => package,
                None => {
                    let range = bare
                        .range
                        .or_else(|| author.declared(&bare.name, path))
                        .unwrap_or_else(|| "latest".into());
                    let key = format!("{}@{range}", bare.name);
                    let package =
                        match version(plugin, &key, &bare.name, &range, path, From::Author).await {
                            // Node says so where the code comes to it.
                            Err(error) if !is_sure && error.is_about_a_package() => continue,
                            found => found?,
                        };
                    plugin.chosen.lock().insert(key, package.clone());
                    plugin
                        .direct
                        .lock()
                        .entry(bare.name.clone())
                        .or_insert_with(|| package.clone());
                    package
                }
            };
            let folder = folder_of(&plugin.packages.install(&bare.name, &package).await?);
            roots.insert(folder, (bare.name, package));
        }
        if roots.is_empty() {
            Ok(None)
        } else {
            placed(plugin, roots.into_values()).await.map(Some)
        }
    }

    async fn run(self, request: BundleRequest) -> Result<Bundle, BundleError> {
        let author = Arc::new(Author::open(request.entry, self.pages.clone()).await?);
        author.check_manifests()?;
        // Before anything else walks through it.
        check_given(&author)?;
        let entry_code = author.entry_code().to_owned();
        let kind = author.kind_of(author.entry(), author.entry(), &entry_code);
        typescript::check(author.entry(), &entry_code, kind)?;
        let lowered = lowered(&author, &self.node_version)?;
        let lock = request.lock.unwrap_or_default();
        let mut plugin = self.plugin(&author, lock);
        let mut made = self.generate(&plugin, lowered.clone()).await;
        let mut beside = self.beside(&author, &plugin).await?;
        if beside.is_some() {
            let before = plugin;
            plugin = self.plugin(&author, before.lock());
            plugin.follow(&before, beside.clone());
            made = match (self.generate(&plugin, lowered).await, made) {
                (Err(_), Err(first)) => Err(first),
                (made, _) => made,
            };
        }
        let chunk = made?;
        let own = author.around(&plugin.own_readers());
        if own.len() > OWN_FILES_MAX {
            return Err(BundleError::TooManyFiles { count: own.len(), count_max: OWN_FILES_MAX });
        }
        let folders = |path: &'_ String| {
            path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>()
        };
        if let Some(path) = own.keys().flat_map(folders).find(|folder| own.contains_key(folder)) {
            return Err(BundleError::FileIsFolder { path });
        }
        let banner =
            if own.is_empty() { BANNER.to_owned() } else { format!("{BANNER} {OWN_BANNER}") };
        if !own.is_empty() {
            beside.get_or_insert_default().files = own;
        }
        let source_map = chunk.map.as_ref().map(|map| finished(&map.to_json_string(), &plugin));
        let texts: BTreeMap<String, String> = author.texts().into_iter().collect();
        let responds = responds::responds(texts.iter(), &chunk.code);
        let named = with_own_names(&chunk);
        let code = named.as_deref().unwrap_or(&chunk.code);
        let code = bundler_helpers::without_unused(code).map_or(Cow::Borrowed(code), Cow::Owned);
        let auth_keys = extract::auth_keys_of(&texts, author.entry());
        Ok(Bundle {
            code: format!("{banner}\n{code}"),
            source_map,
            lock: plugin.lock(),
            beside,
            entry: author.entry().to_owned(),
            entry_code,
            responds,
            imports: plugin.imports(),
            unfit: plugin.unfit(),
            auth_keys,
        })
    }
}

/// The package that a specifier names, if it names one.
fn package_of(specifier: &str) -> Option<Bare> {
    Bare::parse(specifier).filter(|bare| !is_builtin(specifier) && !is_builtin(&bare.name))
}

/// A source map of code that has the banner's line before it, with the names of files as their
/// authors know them.
fn finished(map: &str, plugin: &MillracePlugin) -> String {
    let Ok(mut map) = millrace_model::json::from_str::<Value>(map) else { return map.to_owned() };
    if let Some(mappings) = map.get("mappings").and_then(Value::as_str) {
        let mappings = format!(";{mappings}");
        map["mappings"] = mappings.into();
    }
    for source in map.get_mut("sources").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(name) = source.as_str() {
            *source = plugin.source_name(name).into();
        }
    }
    map.to_string()
}
