//! Packages behind imports: which version, from whose point of view, and what may be missing.

use std::path::Path;

use rolldown::plugin::{HookResolveIdOutput, PluginContext, PluginContextResolveOptions};
use rolldown_common::{ImportKind, ResolvedId};

use crate::error::unsupported;
use crate::manifest::{Manifest, Wanted};
use crate::optional_modules::is_guarded;
use crate::package_closure::{folder_of, specifier_of};
use crate::packages::Packages;
use crate::peers::{brought, fitting};
use crate::plugin::{MillracePlugin, external};
use crate::ranges::serves;
use crate::specifier::Bare;
use crate::{BundleError, LockedPackage};

/// Ranges of packages that our own modules import.
const OUR_RANGES: &[(&str, &str)] = &[("axios", "^1")];

/// Resolves one import.
pub(crate) struct Dependencies<'a> {
    pub(crate) plugin: &'a MillracePlugin,
    pub(crate) ctx: &'a PluginContext,
    pub(crate) kind: ImportKind,
}

/// A package as imported.
struct Import<'a> {
    bare: &'a Bare,
    range: &'a str,
    importer: &'a str,
    from: From,
}

/// Whose import it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Author,
    /// Of a package that cannot do without.
    Package,
    /// Of a package that can do without.
    Optional,
}

impl Dependencies<'_> {
    pub(crate) async fn of_author(
        &self,
        bare: &Bare,
        path: &str,
    ) -> Result<HookResolveIdOutput, BundleError> {
        let range = match self.plugin.author.range(bare, path) {
            Some(range) => range,
            None => fitting(self.plugin, &bare.name, path).await?,
        };
        self.package(Import { bare, range: &range, importer: path, from: From::Author }).await
    }

    pub(crate) async fn of_ours(
        &self,
        specifier: &str,
        name: &str,
    ) -> Result<HookResolveIdOutput, BundleError> {
        let bare = Bare::parse(specifier)
            .ok_or_else(|| unsupported(specifier, name, "it is no package name"))?;
        let range =
            OUR_RANGES.iter().find(|(n, _)| *n == bare.name).map_or("latest", |(_, range)| *range);
        self.package(Import { bare: &bare, range, importer: name, from: From::Package }).await
    }

    /// An import within a package's file. None leaves it to the bundler, which says what is wrong.
    pub(crate) async fn of_package(
        &self,
        specifier: &str,
        file: &str,
    ) -> Result<Option<HookResolveIdOutput>, BundleError> {
        let path = Path::new(file.split('?').next().unwrap_or(file));
        let Some((folder, manifest)) = self.plugin.packages.owner(path) else { return Ok(None) };
        let label = label(&folder);
        if specifier.starts_with('.') {
            return self.file(specifier, file, &label).await;
        }
        if specifier.starts_with('#') {
            return match manifest
                .imported_package(specifier, self.kind == ImportKind::Require)
                .as_deref()
                .and_then(Bare::parse)
            {
                Some(bare) if crate::specifier::is_builtin(&bare.name) => {
                    Ok(Some(external(&bare.name)))
                }
                Some(bare) if self.plugin.packages.has_bundled(path, &bare.name) => {
                    self.file(specifier, file, &label).await
                }
                Some(bare) => self.wanted(&bare, path, (&label, &manifest)).await.map(Some),
                None => self.file(specifier, file, &label).await,
            };
        }
        let Some(bare) = Bare::parse(specifier) else {
            return if self.can_fail_later() {
                Ok(Some(external(specifier)))
            } else {
                Err(unsupported(specifier, &label, "it is no package name"))
            };
        };
        if let Some(id) = self.plugin.our_module(&bare) {
            return Ok(Some(id));
        }
        if self.plugin.packages.has_bundled(path, &bare.name) {
            return self.file(specifier, file, &label).await;
        }
        // A package may import itself by name.
        if matches!(manifest.wanted(&bare.name), Wanted::Undeclared)
            && label.starts_with(&format!("{}@", bare.name))
        {
            return self.file(specifier, file, &label).await;
        }
        self.wanted(&bare, path, (&label, &manifest)).await.map(Some)
    }

    async fn wanted(
        &self,
        bare: &Bare,
        file: &Path,
        (label, manifest): (&str, &Manifest),
    ) -> Result<HookResolveIdOutput, BundleError> {
        let specifier = format!("{}{}", bare.name, bare.subpath);
        let import = |range: &str, from| {
            let range = self.plugin.prescribed(&bare.name, range.to_owned(), label);
            async move { self.package(Import { bare, range: &range, importer: label, from }).await }
        };
        let wanted = match manifest.wanted(&bare.name) {
            Wanted::Peer(range) => Wanted::Range(
                brought(self.plugin, label, &bare.name, &range).await?.unwrap_or(range),
            ),
            Wanted::OptionalPeer(range) => {
                match brought(self.plugin, label, &bare.name, &range).await? {
                    Some(range) => Wanted::Optional(range),
                    None => Wanted::OptionalPeer(range),
                }
            }
            wanted => wanted,
        };
        match wanted {
            Wanted::Range(range) | Wanted::Peer(range) => match import(&range, From::Package).await
            {
                Err(error) if error.is_about_a_package() && self.is_guarded(file, &specifier) => {
                    Ok(external(&specifier))
                }
                result => result,
            },
            Wanted::Optional(range) => import(&range, From::Optional).await,
            Wanted::OptionalPeer(range) => {
                let brought = self.plugin.direct.lock().contains_key(&bare.name);
                if brought || !self.can_fail_later() {
                    import(&range, From::Package).await
                } else {
                    Ok(external(&specifier))
                }
            }
            // npm would not have installed it either: what guards against that stays as it is.
            Wanted::Undeclared
                if self.kind == ImportKind::DynamicImport || self.is_guarded(file, &specifier) =>
            {
                Ok(external(&specifier))
            }
            Wanted::Undeclared if self.can_fail_later() => import("latest", From::Optional).await,
            Wanted::Undeclared => import("latest", From::Package).await,
        }
    }

    /// A `require` or `import()` throws when it runs, not when the module loads.
    fn can_fail_later(&self) -> bool {
        matches!(self.kind, ImportKind::Require | ImportKind::DynamicImport)
    }

    fn is_guarded(&self, file: &Path, specifier: &str) -> bool {
        self.kind == ImportKind::Require
            && std::fs::read_to_string(file).is_ok_and(|text| is_guarded(&text, specifier))
    }

    /// A package's own file, which is in the store: nothing of a package leads out of it.
    async fn file(
        &self,
        specifier: &str,
        file: &str,
        label: &str,
    ) -> Result<Option<HookResolveIdOutput>, BundleError> {
        // `./x.node` may be an add-on, and may be `x.node.js`.
        let can_be_left = self.can_fail_later() || specifier.ends_with(".node");
        match self.resolve(specifier, file).await? {
            Some(resolved)
                if !Path::new(resolved.id.as_str()).starts_with(self.plugin.packages.root())
                    && !resolved.external.is_external() =>
            {
                Err(BundleError::Outside { specifier: specifier.into(), importer: label.into() })
            }
            Some(resolved) if resolved.id.as_str().ends_with(".node") => {
                Ok(Some(external(specifier)))
            }
            Some(resolved) => Ok(Some(HookResolveIdOutput::from_resolved_id(resolved))),
            None if can_be_left => Ok(Some(external(specifier))),
            None => Ok(None),
        }
    }

    async fn resolve(
        &self,
        specifier: &str,
        from: &str,
    ) -> Result<Option<ResolvedId>, BundleError> {
        let options = PluginContextResolveOptions {
            import_kind: self.kind,
            ..PluginContextResolveOptions::default()
        };
        let answer = self.ctx.resolve(specifier, Some(from), Some(options)).await;
        Ok(answer
            .map_err(|e| BundleError::Internal {
                what: "could not resolve an import",
                source: e.into(),
            })?
            .ok())
    }

    /// Chooses a version (or keeps the one in the lock), installs it and resolves within it.
    async fn package(&self, import: Import<'_>) -> Result<HookResolveIdOutput, BundleError> {
        let key = format!("{}@{}", import.bare.name, import.range);
        match self.installed(&key, &import).await {
            Err(error) if import.from == From::Optional && error.is_about_a_package() => {
                self.plugin.left_out(import.importer, &error, From::Optional);
                // Kept in the lock, so that a later bundle need not ask again.
                let left_out = LockedPackage {
                    name: import.bare.name.clone(),
                    version: String::new(),
                    integrity: String::new(),
                };
                self.plugin.chosen.lock().insert(key, left_out);
                Ok(external(&format!("{}{}", import.bare.name, import.bare.subpath)))
            }
            result => result,
        }
    }

    /// What follows the name of a package that lies beside the bundle. Node's `import` adds no
    /// ending, as the bundler does.
    fn path_within(&self, bare: &Bare, folder: &Path, resolved: &ResolvedId) -> String {
        let home = folder.join("node_modules").join(&bare.name);
        let file = Path::new(resolved.id.as_str());
        let opens_all =
            self.plugin.packages.owner(file).is_some_and(|(_, manifest)| manifest.opens_all());
        match file.strip_prefix(&home) {
            Ok(below) if !bare.subpath.is_empty() && opens_all => format!("/{}", below.display()),
            _ => bare.subpath.clone(),
        }
    }

    /// Resolves within an installed package. Node takes `exports` that are null for none, the
    /// bundler for a package that opens nothing.
    async fn resolve_installed(
        &self,
        bare: &Bare,
        folder: &Path,
    ) -> Result<Option<ResolvedId>, BundleError> {
        let importer = folder.join("importer.mjs").to_string_lossy().into_owned();
        let named = format!("{}{}", bare.name, bare.subpath);
        let found = self.resolve(&named, &importer).await?;
        let home = folder.join("node_modules").join(&bare.name);
        let manifest = self.plugin.packages.owner(&home.join("package.json"));
        if found.is_some() || !manifest.is_some_and(|(_, manifest)| manifest.opens_all()) {
            return Ok(found);
        }
        self.resolve(&format!("{}{}", home.display(), bare.subpath), &importer).await
    }

    async fn installed(
        &self,
        key: &str,
        import: &Import<'_>,
    ) -> Result<HookResolveIdOutput, BundleError> {
        let Import { bare, range, importer, from } = *import;
        let specifier = format!("{}{}", bare.name, bare.subpath);
        let mut package = version(self.plugin, key, &bare.name, range, importer, from).await?;
        if package.version.is_empty() {
            return Err(unsupported(
                &specifier,
                importer,
                &format!("`{range}` was left out before"),
            ));
        }
        let mut folder = self.plugin.packages.install(&bare.name, &package).await?;
        let mut wants = self.plugin.packages.wants_newer_node(&folder, &bare.name);
        if wants.is_some()
            && self.plugin.before.0.get(key) == Some(&package)
            && !self.plugin.chosen.lock().contains_key(key)
        {
            // It was chosen for another Node.
            package = self.plugin.packages.choose(&bare.name, range, importer).await?.package;
            folder = self.plugin.packages.install(&bare.name, &package).await?;
            wants = self.plugin.packages.wants_newer_node(&folder, &bare.name);
        }
        let named = format!("{}@{}", package.name, package.version);
        if let Some((wanted, node)) = wants {
            if from == From::Author && package.version != range {
                return Err(BundleError::NodeTooOld {
                    package: named,
                    importer: importer.into(),
                    wanted,
                    node,
                });
            }
            self.plugin
                .unfit
                .lock()
                .insert(format!("`{named}` wants Node {wanted}, and {node} runs components here"));
        }
        let installed = package.clone();
        self.plugin.chosen.lock().insert(key.to_owned(), package.clone());
        if from == From::Author {
            self.plugin.direct.lock().entry(bare.name.clone()).or_insert(package);
        }
        let label = folder_of(&folder);
        self.plugin.installed(&label, importer, &bare.name, &installed);
        let native = || BundleError::Native { package: named.clone(), importer: importer.into() };
        if from != From::Optional && Packages::is_native(&folder, &bare.name) {
            return Err(native());
        }
        match self.resolve_installed(bare, &folder).await? {
            Some(resolved) if resolved.id.as_str().ends_with(".node") => Err(native()),
            // What is found elsewhere on this machine is not this package.
            Some(resolved)
                if Path::new(resolved.id.as_str()).starts_with(&folder)
                    && self.plugin.lies_beside(&label) =>
            {
                Ok(external(&format!(
                    "{}{}",
                    specifier_of(&label),
                    self.path_within(bare, &folder, &resolved)
                )))
            }
            Some(resolved) if Path::new(resolved.id.as_str()).starts_with(&folder) => {
                Ok(HookResolveIdOutput::from_resolved_id(resolved))
            }
            _ => Err(unsupported(&specifier, importer, &format!("{named} has no such module"))),
        }
    }
}

/// The version that a range means to an importer: what is in the lock, what the author chose where
/// it serves, else what the registry names.
pub(crate) async fn version(
    plugin: &MillracePlugin,
    key: &str,
    name: &str,
    range: &str,
    importer: &str,
    from: From,
) -> Result<LockedPackage, BundleError> {
    let known = plugin.chosen.lock().get(key).or_else(|| plugin.before.0.get(key)).cloned();
    // What one importer could do without, another may need.
    if let Some(package) =
        known.filter(|package| from == From::Optional || !package.version.is_empty())
    {
        return Ok(package);
    }
    if from != From::Author
        && let Some(package) =
            plugin.direct.lock().get(name).filter(|package| serves(&package.version, range))
    {
        return Ok(package.clone());
    }
    let chosen = plugin.packages.choose(name, range, importer).await?;
    if from == From::Optional && chosen.is_for_some_machines {
        let package = format!("{}@{}", chosen.package.name, chosen.package.version);
        return Err(BundleError::Native { package, importer: importer.into() });
    }
    Ok(chosen.package)
}

/// A folder of the store in words: `name@version`.
pub(crate) fn label(folder: &str) -> String {
    if folder.starts_with('@') { folder.replacen('+', "/", 1) } else { folder.to_owned() }
}
