//! Resolution of imports: the author's files among themselves, packages through the lock, Node's
//! modules left alone.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use millrace_model::component::Beside;
use parking_lot::Mutex;
use rolldown::plugin::{
    HookLoadArgs, HookLoadOutput, HookLoadReturn, HookResolveIdArgs, HookResolveIdOutput,
    HookResolveIdReturn, HookTransformArgs, HookTransformOutput, HookTransformOutputMap,
    HookTransformReturn, HookUsage, Plugin, PluginContext, SharedLoadPluginContext,
    SharedTransformPluginContext,
};
use rolldown_common::{ImportKind, ModuleType, ResolvedExternal};
use rolldown_error::{BuildDiagnostic, DiagnosticOptions, EventKind};

use crate::author::{Author, OwnName, has_ending};
use crate::dependencies::{Dependencies, From};
use crate::error::unsupported;
use crate::kinds::{Compiler, check_packaged, module_type, names_factory, readable, source_type};
use crate::names::begun_by;
use crate::overrides::Overrides;
use crate::own_files;
use crate::package_closure::Root;
use crate::packages::Packages;
use crate::place_dependent::{depends_on_its_place, may_load_made};
use crate::rewritten::rewritten;
use crate::sloppy::evaluated;
use crate::specifier::{Bare, NO_PACKAGE, is_builtin};
use crate::{BundleError, Lock, LockedPackage};

/// The specifier of the entry.
pub(crate) const ENTRY: &str = "millrace:entry";
/// The folder that the author's files seem to be in, beside the packages, so that nothing in a
/// bundle tells where it was made.
const AUTHOR: &str = "component";
/// The bundler's helper that calls decorators, at the end of its id.
const DECORATE: &str = "/helpers/esm/decorate.js";
/// Ids of our own modules.
const OURS: &str = "millrace:module/";

/// A package with more code than this is not bundled: reading all of it takes minutes on a small
/// machine, and Node reads only what is used.
const LARGE_BYTES: u64 = 16 << 20;

pub(crate) struct MillracePlugin {
    pub(crate) author: Arc<Author>,
    author_prefix: String,
    overrides: Overrides,
    pub(crate) packages: Arc<Packages>,
    /// Chosen at an earlier time.
    pub(crate) before: Lock,
    pub(crate) chosen: Mutex<BTreeMap<String, LockedPackage>>,
    /// What the author's own imports chose: a package that accepts it gets it as well, as with npm.
    pub(crate) direct: Mutex<BTreeMap<String, LockedPackage>>,
    /// Packages that want a newer Node than there is, and parts of packages that cannot be had, in
    /// words.
    pub(crate) unfit: Mutex<BTreeSet<String>>,
    /// Packages that were installed, by their folder.
    pub(crate) homes: Mutex<BTreeMap<String, Root>>,
    /// Folders of packages with code that depends on where it lies.
    readers: Mutex<BTreeSet<String>>,
    /// Whether a package, by its folder, has so much code that it is laid beside the bundle without
    /// being read.
    large: Mutex<BTreeMap<String, bool>>,
    /// Packages that installed ones load by names which they make as they run.
    begun: Mutex<BTreeSet<String>>,
    /// Files of the author whose code depends on where it lies.
    own_readers: Mutex<BTreeSet<String>>,
    /// What the files of a package import, by its label.
    pub(crate) edges: Mutex<BTreeMap<String, BTreeMap<String, LockedPackage>>>,
    /// What lies beside the bundle and is not bundled.
    laid: OnceLock<Beside>,
    imports: Mutex<BTreeSet<String>>,
    modules: &'static [(&'static str, &'static str)],
    /// Whether decorators are TypeScript's older ones.
    experimental_decorators: bool,
    /// Modules whose depth was checked.
    checked: Mutex<BTreeSet<String>>,
    /// The first error of ours: the bundler only passes on text.
    failure: Mutex<Option<BundleError>>,
}

impl std::fmt::Debug for MillracePlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MillracePlugin")
    }
}

impl MillracePlugin {
    pub(crate) fn new(
        author: Arc<Author>,
        packages: Arc<Packages>,
        before: Lock,
        modules: &'static [(&'static str, &'static str)],
    ) -> Self {
        let author_prefix = format!("{}/{AUTHOR}/", packages.root().display());
        let overrides = author.overrides();
        Self {
            experimental_decorators: Compiler::of(&author).experimental_decorators,
            author,
            author_prefix,
            overrides,
            packages,
            before,
            chosen: Mutex::default(),
            direct: Mutex::default(),
            unfit: Mutex::default(),
            homes: Mutex::default(),
            readers: Mutex::default(),
            large: Mutex::default(),
            begun: Mutex::default(),
            own_readers: Mutex::default(),
            edges: Mutex::default(),
            laid: OnceLock::new(),
            imports: Mutex::default(),
            modules,
            checked: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    pub(crate) fn lock(&self) -> Lock {
        Lock(self.chosen.lock().clone())
    }

    pub(crate) fn unfit(&self) -> Vec<String> {
        self.unfit.lock().iter().cloned().collect()
    }

    /// Notes why a package that `importer` names is left out: it is said where the component does
    /// not load. What is optional is often missing.
    pub(crate) fn left_out(&self, importer: &str, error: &BundleError, from: From) {
        let reason = match error {
            BundleError::Native { .. } => format!(
                "`{importer}` has parts that are machine code, and components run JavaScript only"
            ),
            _ if from == From::Optional => return,
            error => error.to_string(),
        };
        self.unfit.lock().insert(reason);
    }

    /// Packages that are to lie beside the bundle, by their folder.
    pub(crate) fn readers(&self) -> BTreeMap<String, Root> {
        let homes = self.homes.lock();
        self.readers
            .lock()
            .iter()
            .filter_map(|folder| Some((folder.clone(), homes.get(folder)?.clone())))
            .collect()
    }

    /// Packages that installed ones load by names which they make as they run.
    pub(crate) fn begun(&self) -> BTreeSet<String> {
        self.begun.lock().clone()
    }

    /// Of packages by their names those that were installed, by their folder.
    pub(crate) fn homes_of(&self, names: &BTreeSet<String>) -> BTreeMap<String, Root> {
        self.homes
            .lock()
            .iter()
            .filter(|(_, (name, _))| names.contains(name))
            .map(|(folder, root)| (folder.clone(), root.clone()))
            .collect()
    }

    /// Files of the author whose code depends on where it lies.
    pub(crate) fn own_readers(&self) -> BTreeSet<String> {
        self.own_readers.lock().clone()
    }

    /// Notes a package that `importer` imports.
    pub(crate) fn installed(
        &self,
        folder: &str,
        importer: &str,
        import_name: &str,
        package: &LockedPackage,
    ) {
        self.homes.lock().insert(folder.to_owned(), (import_name.to_owned(), package.clone()));
        self.edges
            .lock()
            .entry(importer.to_owned())
            .or_default()
            .insert(import_name.to_owned(), package.clone());
    }

    pub(crate) fn is_laid(&self, folder: &str) -> bool {
        self.laid.get().is_some_and(|beside| beside.packages.contains_key(folder))
    }

    /// Whether a package lies beside the bundle: what was found so before, and what is too large to
    /// be read and printed for each component that imports it.
    pub(crate) fn lies_beside(&self, folder: &str) -> bool {
        if self.is_laid(folder) {
            return true;
        }
        let is_large = *self
            .large
            .lock()
            .entry(folder.to_owned())
            .or_insert_with(|| code_bytes(&self.packages.root().join(folder)) > LARGE_BYTES);
        if is_large && self.laid.get().is_none() {
            self.readers.lock().insert(folder.to_owned());
        }
        is_large
    }

    /// Takes over what an attempt chose that bundled everything.
    pub(crate) fn follow(&self, before: &Self, beside: Option<Beside>) {
        self.chosen.lock().clone_from(&before.chosen.lock());
        self.direct.lock().clone_from(&before.direct.lock());
        self.unfit.lock().clone_from(&before.unfit.lock());
        self.checked.lock().clone_from(&before.checked.lock());
        if let Some(beside) = beside {
            // It is set once, before anything is bundled.
            let _ = self.laid.set(beside);
        }
    }

    pub(crate) fn imports(&self) -> Vec<String> {
        self.imports.lock().iter().cloned().collect()
    }

    /// What went wrong: our own error where there is one, else the bundler's, with its code frame.
    pub(crate) fn error(&self, diagnostics: Vec<BuildDiagnostic>) -> BundleError {
        if let Some(error) = self.failure.lock().take() {
            return error;
        }
        let is_syntax = diagnostics.iter().any(|d| matches!(d.kind(), EventKind::ParseError));
        let options = DiagnosticOptions { cwd: self.packages.root().to_path_buf() };
        let text = diagnostics
            .iter()
            .take(3)
            .map(|d| d.to_diagnostic_with(&options).convert_to_string(false))
            .collect::<Vec<_>>()
            .join("\n");
        let text = text
            .replace(&self.author_prefix, "")
            .replace(&format!("{AUTHOR}/"), "")
            .replace(ENTRY, self.author.entry());
        if is_syntax { BundleError::Syntax { text } } else { BundleError::Build { text } }
    }

    /// A source map's name of a file: an author's file as its author names it, others below the
    /// packages' root.
    pub(crate) fn source_name(&self, name: &str) -> String {
        let below = name.trim_start_matches("../");
        below
            .strip_prefix(AUTHOR)
            .and_then(|path| path.strip_prefix('/'))
            .unwrap_or(below)
            .to_owned()
    }

    fn fail(&self, error: BundleError) -> anyhow::Error {
        let text = error.to_string();
        self.failure.lock().get_or_insert(error);
        anyhow::Error::msg(text)
    }

    async fn resolve(
        &self,
        ctx: &PluginContext,
        args: &HookResolveIdArgs<'_>,
    ) -> Result<Option<HookResolveIdOutput>, BundleError> {
        let specifier = args.specifier;
        if args.is_entry || specifier == ENTRY {
            return Ok(Some(HookResolveIdOutput::from_id(self.author_id(self.author.entry()))));
        }
        if is_builtin(specifier) {
            return Ok(Some(builtin(specifier)));
        }
        let importer = args.importer.unwrap_or(ENTRY);
        let dependencies = Dependencies { plugin: self, ctx, kind: args.kind };
        if let Some(name) = importer.strip_prefix(OURS) {
            return dependencies.of_ours(specifier, name).await.map(Some);
        }
        match importer.strip_prefix(&self.author_prefix) {
            Some(path) => self.resolve_for_author(&dependencies, specifier, path).await.map(Some),
            None => dependencies.of_package(specifier, importer).await,
        }
    }

    async fn resolve_for_author(
        &self,
        dependencies: &Dependencies<'_>,
        specifier: &str,
        path: &str,
    ) -> Result<HookResolveIdOutput, BundleError> {
        if specifier.starts_with('.') {
            return Ok(HookResolveIdOutput::from_id(
                self.author_id(&self.author.resolve(specifier, path).await?),
            ));
        }
        if specifier.starts_with('/') || specifier.starts_with("file:") {
            let (specifier, importer) = (specifier.into(), path.into());
            return Err(BundleError::Outside { specifier, importer });
        }
        // The address is the text of a module, which Node reads.
        if specifier.starts_with("data:") {
            return Ok(external(specifier));
        }
        if specifier.contains("://") {
            let why = "addresses are not imported; import a package, or a file of the component";
            return Err(unsupported(specifier, path, why));
        }
        let is_require = dependencies.kind == ImportKind::Require;
        let named = match self.author.resolve_own_name(specifier, path, is_require).await? {
            Some(OwnName::File(file)) => {
                return Ok(HookResolveIdOutput::from_id(self.author_id(&file)));
            }
            Some(OwnName::Package(named)) if is_builtin(&named) => return Ok(builtin(&named)),
            Some(OwnName::Package(named)) => named,
            None => specifier.to_owned(),
        };
        let bare = Bare::parse(&named).ok_or_else(|| unsupported(specifier, path, NO_PACKAGE))?;
        if let Some(id) = self.our_module(&bare) {
            self.imports.lock().insert(named);
            return Ok(id);
        }
        if let Some(file) = self.author.resolve_app(&bare, path).await? {
            return Ok(HookResolveIdOutput::from_id(self.author_id(&file)));
        }
        self.imports.lock().insert(named);
        dependencies.of_author(&bare, path).await
    }

    /// The range of a package that counts where a package, by its label, asks for another's.
    pub(crate) fn prescribed(&self, package: &str, range: String, importer: &str) -> String {
        self.overrides.range(package, &range, importer).unwrap_or(range)
    }

    /// A file that Node runs as CommonJS in sloppy mode, as a module that does so.
    fn evaluated(&self, id: &str, code: &str) -> Option<String> {
        if !id.ends_with(".js") && !id.ends_with(".cjs") {
            return None;
        }
        let of_package = || self.packages.is_module(Path::new(id));
        let own = id.strip_prefix(&self.author_prefix);
        let is_module = || own.map_or_else(of_package, |path| self.author.is_module(path));
        evaluated(code, &self.shown(id)).filter(|_| id.ends_with(".cjs") || !is_module())
    }

    /// A file's name in stacks: below the packages' root, or as its author knows it.
    fn shown(&self, id: &str) -> String {
        let below = id.strip_prefix(&format!("{}/", self.packages.root().display())).unwrap_or(id);
        self.source_name(below)
    }

    /// Whether a module's depth was checked: in an attempt before, or before all of them.
    fn is_checked(&self, id: &str) -> bool {
        let is_given = |path: &str| self.author.is_given() && has_ending(path);
        id.strip_prefix(&self.author_prefix).is_some_and(is_given)
            || self.checked.lock().contains(id)
    }

    fn author_id(&self, path: &str) -> String {
        format!("{}{path}", self.author_prefix)
    }

    /// A module of ours that answers to a package's name. A pinned version is the author's wish for
    /// the real one.
    pub(crate) fn our_module(&self, bare: &Bare) -> Option<HookResolveIdOutput> {
        let is_ours = bare.range.is_none()
            && bare.subpath.is_empty()
            && self.modules.iter().any(|(name, _)| *name == bare.name);
        is_ours.then(|| HookResolveIdOutput::from_id(format!("{OURS}{}", bare.name)))
    }
}

/// Bytes of code and JSON below a folder.
fn code_bytes(folder: &Path) -> u64 {
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => code_bytes(&entry.path()),
        Ok(found)
            if entry.path().extension().is_some_and(|ending| {
                ["js", "mjs", "cjs", "json"].iter().any(|of_code| ending == *of_code)
            }) =>
        {
            found.len()
        }
        _ => 0,
    };
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(size).sum()
}

impl Plugin for MillracePlugin {
    fn name(&self) -> Cow<'static, str> {
        "millrace".into()
    }

    fn register_hook_usage(&self) -> HookUsage {
        HookUsage::ResolveId | HookUsage::Load | HookUsage::Transform
    }

    async fn resolve_id(
        &self,
        ctx: &PluginContext,
        args: &HookResolveIdArgs<'_>,
    ) -> HookResolveIdReturn {
        self.resolve(ctx, args).await.map_err(|e| self.fail(e))
    }

    async fn load(&self, _ctx: SharedLoadPluginContext, args: &HookLoadArgs<'_>) -> HookLoadReturn {
        if let Some(name) = args.id.strip_prefix(OURS) {
            let code = self.modules.iter().find(|(n, _)| *n == name).map_or("", |(_, code)| *code);
            return Ok(Some(HookLoadOutput {
                code: code.into(),
                module_type: Some(ModuleType::Js),
                ..HookLoadOutput::default()
            }));
        }
        let Some(path) = args.id.strip_prefix(&self.author_prefix) else { return Ok(None) };
        let Some(code) = self.author.text(path) else { return Ok(None) };
        let address = path.split(['?', '#']).next().unwrap_or(path);
        let kind = if address.ends_with(".json") {
            ModuleType::Json
        } else {
            module_type(self.author.kind_of(path, address, &code))
        };
        let code = readable(address, code, &kind);
        let code = if matches!(kind, ModuleType::Jsx | ModuleType::Tsx) && names_factory(&code) {
            format!("/** @jsxRuntime classic */ {code}")
        } else {
            code
        };
        // As a comment, for the bundle has lines before it.
        let code = if code.starts_with("#!") && kind != ModuleType::Json {
            code.replacen("#!", "//", 1)
        } else {
            code
        };
        let code = match own_files::placed(path, &code)
            .filter(|_| kind != ModuleType::Json && self.author.is_given())
        {
            Some(placed) => {
                self.own_readers.lock().insert(path.to_owned());
                placed
            }
            None => code,
        };
        Ok(Some(HookLoadOutput {
            code: code.into(),
            module_type: Some(kind),
            ..HookLoadOutput::default()
        }))
    }

    /// What stands in the way of one file for all, said otherwise.
    async fn transform(
        &self,
        _ctx: SharedTransformPluginContext,
        args: &HookTransformArgs<'_>,
    ) -> HookTransformReturn {
        if args.id.ends_with(DECORATE) && !self.experimental_decorators {
            return Ok(Some(HookTransformOutput {
                code: Some(include_str!("decorate.js").into()),
                ..HookTransformOutput::default()
            }));
        }
        let unmarked = args.code.strip_prefix('\u{feff}');
        let given = unmarked.unwrap_or(args.code);
        if let Some(kind) = source_type(args.module_type).filter(|_| !self.is_checked(args.id)) {
            check_packaged(&self.shown(args.id), given, kind).map_err(|error| self.fail(error))?;
            self.checked.lock().insert(args.id.to_owned());
        }
        let rewritten = rewritten(given).or_else(|| unmarked.map(str::to_owned));
        let code = rewritten.as_deref().unwrap_or(given);
        if !args.id.ends_with(".json")
            && let Some((folder, _)) =
                self.packages.owner(Path::new(args.id.split('?').next().unwrap_or(args.id)))
        {
            if !self.readers.lock().contains(&folder) && depends_on_its_place(code) {
                self.readers.lock().insert(folder.clone());
            }
            if self.readers.lock().contains(&folder) && may_load_made(code) {
                self.begun.lock().extend(begun_by(code));
            }
        }
        Ok(self.evaluated(args.id, code).or(rewritten).map(|code| HookTransformOutput {
            code: Some(code),
            map: HookTransformOutputMap::Null,
            ..HookTransformOutput::default()
        }))
    }
}

fn builtin(specifier: &str) -> HookResolveIdOutput {
    external(&format!("node:{}", specifier.trim_start_matches("node:")))
}

pub(crate) fn external(specifier: &str) -> HookResolveIdOutput {
    HookResolveIdOutput {
        external: Some(ResolvedExternal::Bool(true)),
        normalize_external_id: Some(false),
        ..HookResolveIdOutput::from_id(specifier)
    }
}
