//! How imports resolve: the author's files among themselves, packages through the lock, Node's modules left alone.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rolldown::plugin::{
    HookLoadArgs, HookLoadOutput, HookLoadReturn, HookResolveIdArgs, HookResolveIdOutput, HookResolveIdReturn, HookUsage, Plugin, PluginContext,
    PluginContextResolveOptions, SharedLoadPluginContext,
};
use rolldown_common::{ImportKind, ModuleType, ResolvedExternal};
use rolldown_error::{BuildDiagnostic, EventKind};

use crate::author::Author;
use crate::packages::{Packages, Wanted};
use crate::specifier::{Bare, is_builtin};
use crate::{BundleError, Lock, LockedPackage};

/// The specifier of the entry.
pub(crate) const ENTRY: &str = "millrace:entry";
/// Ids of the author's files and of our own modules.
const AUTHOR: &str = "/component/";
const OURS: &str = "millrace:module/";
/// Ranges of packages that our own modules import.
const OUR_RANGES: &[(&str, &str)] = &[("axios", "^1")];

pub(crate) struct MillracePlugin {
    author: Arc<Author>,
    packages: Arc<Packages>,
    before: Lock,
    chosen: Mutex<BTreeMap<String, LockedPackage>>,
    imports: Mutex<BTreeSet<String>>,
    modules: &'static [(&'static str, &'static str)],
    /// The first error of ours: the bundler only passes on text.
    failure: Mutex<Option<BundleError>>,
}

impl std::fmt::Debug for MillracePlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MillracePlugin")
    }
}

/// Who imports.
enum Importer<'a> {
    Author(&'a str),
    Ours(&'a str),
    Package(&'a str),
}

impl MillracePlugin {
    pub(crate) fn new(author: Arc<Author>, packages: Arc<Packages>, before: Lock, modules: &'static [(&'static str, &'static str)]) -> Self {
        Self { author, packages, before, chosen: Mutex::default(), imports: Mutex::default(), modules, failure: Mutex::default() }
    }

    pub(crate) fn lock(&self) -> Lock {
        Lock(self.chosen.lock().clone())
    }

    pub(crate) fn imports(&self) -> Vec<String> {
        self.imports.lock().iter().cloned().collect()
    }

    /// What went wrong: our own error where there is one, else the bundler's, with its code frame.
    pub(crate) fn error(&self, author: &Author, diagnostics: Vec<BuildDiagnostic>) -> BundleError {
        if let Some(error) = self.failure.lock().take() {
            return error;
        }
        let parse = diagnostics.iter().any(|d| matches!(d.kind(), EventKind::ParseError));
        let text = diagnostics.iter().take(3).map(|d| d.to_diagnostic().convert_to_string(false)).collect::<Vec<_>>().join("\n");
        let text = text.replace(AUTHOR, "").replace(ENTRY, author.entry());
        if parse { BundleError::Syntax { text } } else { BundleError::Build { text } }
    }

    fn fail(&self, error: BundleError) -> anyhow::Error {
        let text = error.to_string();
        self.failure.lock().get_or_insert(error);
        anyhow::Error::msg(text)
    }

    async fn resolve(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>) -> Result<Option<HookResolveIdOutput>, BundleError> {
        let specifier = args.specifier;
        if args.is_entry || specifier == ENTRY {
            return Ok(Some(HookResolveIdOutput::from_id(format!("{AUTHOR}{}", self.author.entry()))));
        }
        let importer = match args.importer {
            Some(id) => match (id.strip_prefix(AUTHOR), id.strip_prefix(OURS)) {
                (Some(path), _) => Importer::Author(path),
                (_, Some(name)) => Importer::Ours(name),
                _ => Importer::Package(id),
            },
            None => Importer::Author(self.author.entry()),
        };
        if is_builtin(specifier) {
            return Ok(Some(builtin(specifier)));
        }
        if specifier.starts_with('.') {
            return match importer {
                Importer::Author(path) => Ok(Some(HookResolveIdOutput::from_id(format!("{AUTHOR}{}", self.author.resolve(specifier, path).await?)))),
                // A package's own files: the usual resolution, which stays within its folder unless it climbs.
                Importer::Ours(_) | Importer::Package(_) if specifier.ends_with(".node") => Ok(Some(external(specifier))),
                Importer::Ours(_) | Importer::Package(_) => Ok(None),
            };
        }
        if let Importer::Package(_) = importer
            && specifier.starts_with('#')
        {
            return Ok(None);
        }
        match importer {
            Importer::Author(path) => self.import_of_author(ctx, args, path).await,
            Importer::Ours(name) => {
                let range = OUR_RANGES.iter().find(|(n, _)| *n == specifier).map_or("latest", |(_, range)| *range);
                let bare = Bare::parse(specifier).ok_or_else(|| unsupported(specifier, name, "it is no package name"))?;
                self.package(ctx, args, &bare, range, name).await.map(Some)
            }
            Importer::Package(file) => self.import_of_package(ctx, args, file).await,
        }
    }

    async fn import_of_author(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>, path: &str) -> Result<Option<HookResolveIdOutput>, BundleError> {
        let specifier = args.specifier;
        if specifier.starts_with('/') || specifier.starts_with("file:") {
            return Err(BundleError::Outside { specifier: specifier.into(), importer: path.into() });
        }
        if specifier.contains("://") || specifier.starts_with("data:") {
            return Err(unsupported(specifier, path, "addresses are not imported; import a package, or a file of the component"));
        }
        let bare = Bare::parse(specifier).ok_or_else(|| unsupported(specifier, path, "it is no package name"))?;
        self.imports.lock().insert(specifier.to_owned());
        if bare.range.is_none() && bare.subpath.is_empty() && self.modules.iter().any(|(name, _)| *name == bare.name) {
            return Ok(Some(HookResolveIdOutput::from_id(format!("{OURS}{}", bare.name))));
        }
        let range = bare.range.clone().unwrap_or_else(|| "latest".into());
        self.package(ctx, args, &bare, &range, path).await.map(Some)
    }

    async fn import_of_package(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>, file: &str) -> Result<Option<HookResolveIdOutput>, BundleError> {
        let specifier = args.specifier;
        let Some(bare) = Bare::parse(specifier) else { return Ok(None) };
        let Some((label, manifest)) = self.packages.owner(Path::new(file.split('?').next().unwrap_or(file))) else { return Ok(None) };
        // What npm would not have installed, a guarded `require` finds missing at run time as well.
        let can_miss = args.kind == ImportKind::Require || args.kind == ImportKind::DynamicImport;
        match manifest.wanted(&bare.name) {
            Wanted::Range(range) => self.package(ctx, args, &bare, &range, &label).await.map(Some),
            Wanted::Optional(_) if can_miss => Ok(Some(external(specifier))),
            Wanted::Optional(range) => self.package(ctx, args, &bare, &range, &label).await.map(Some),
            Wanted::Undeclared => {
                // A package may import itself by name.
                if label.starts_with(&format!("{}@", bare.name.replace('/', "+"))) {
                    return Ok(None);
                }
                if can_miss { Ok(Some(external(specifier))) } else { self.package(ctx, args, &bare, "latest", &label).await.map(Some) }
            }
        }
    }

    /// Chooses a version (or keeps the locked one), installs it and resolves within it.
    async fn package(
        &self,
        ctx: &PluginContext,
        args: &HookResolveIdArgs<'_>,
        bare: &Bare,
        range: &str,
        importer: &str,
    ) -> Result<HookResolveIdOutput, BundleError> {
        let key = format!("{}@{range}", bare.name);
        let known = self.chosen.lock().get(&key).or_else(|| self.before.0.get(&key)).cloned();
        let package = match known {
            Some(package) => package,
            None => self.packages.choose(&bare.name, range, importer).await?,
        };
        let folder = self.packages.install(&bare.name, &package).await?;
        self.chosen.lock().insert(key, package.clone());
        let specifier = format!("{}{}", bare.name, bare.subpath);
        let from = folder.join("importer.mjs");
        let options = PluginContextResolveOptions { import_kind: args.kind, ..PluginContextResolveOptions::default() };
        let internal = |e: anyhow::Error| BundleError::Internal { what: "could not resolve an import", source: e.into() };
        match ctx.resolve(&specifier, from.to_str(), Some(options)).await.map_err(internal)? {
            Ok(resolved) if resolved.id.as_str().ends_with(".node") => {
                Err(unsupported(&specifier, importer, "it is a native add-on; components run JavaScript only"))
            }
            Ok(resolved) => Ok(HookResolveIdOutput::from_resolved_id(resolved)),
            Err(error) => Err(unsupported(&specifier, importer, &format!("{}@{} has no such module ({error:?})", package.name, package.version))),
        }
    }
}

impl Plugin for MillracePlugin {
    fn name(&self) -> Cow<'static, str> {
        "millrace".into()
    }

    fn register_hook_usage(&self) -> HookUsage {
        HookUsage::ResolveId | HookUsage::Load
    }

    async fn resolve_id(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>) -> HookResolveIdReturn {
        self.resolve(ctx, args).await.map_err(|e| self.fail(e))
    }

    async fn load(&self, _ctx: SharedLoadPluginContext, args: &HookLoadArgs<'_>) -> HookLoadReturn {
        if let Some(name) = args.id.strip_prefix(OURS) {
            let code = self.modules.iter().find(|(n, _)| *n == name).map_or("", |(_, code)| *code);
            return Ok(Some(HookLoadOutput { code: code.into(), module_type: Some(ModuleType::Js), ..HookLoadOutput::default() }));
        }
        let Some(path) = args.id.strip_prefix(AUTHOR) else { return Ok(None) };
        let Some(code) = self.author.text(path) else { return Ok(None) };
        let address = path.split(['?', '#']).next().unwrap_or(path);
        let kind = match address.rsplit('.').next() {
            Some("ts" | "mts" | "cts") => ModuleType::Ts,
            Some("tsx") => ModuleType::Tsx,
            Some("json") => ModuleType::Json,
            _ => ModuleType::Js,
        };
        Ok(Some(HookLoadOutput { code: code.into(), module_type: Some(kind), ..HookLoadOutput::default() }))
    }
}

fn builtin(specifier: &str) -> HookResolveIdOutput {
    let id = if specifier.starts_with("node:") { specifier.to_owned() } else { format!("node:{specifier}") };
    external(&id)
}

fn external(specifier: &str) -> HookResolveIdOutput {
    HookResolveIdOutput { external: Some(ResolvedExternal::Bool(true)), normalize_external_id: Some(false), ..HookResolveIdOutput::from_id(specifier) }
}

fn unsupported(specifier: &str, importer: &str, reason: &str) -> BundleError {
    BundleError::Unsupported { specifier: specifier.into(), importer: importer.into(), reason: reason.into() }
}
