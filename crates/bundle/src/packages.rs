//! Machine-wide store of packages: `<root>/<name>@<version>/node_modules/<name>/…`, so that the
//! usual resolution from `<root>/<name>@<version>/` finds exactly that version. Nothing of a
//! package is run.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::manifest::Manifest;
use crate::optional_modules::has_another_way;
use crate::packument::wants_newer;
use crate::registry::{Chosen, Registry};
use crate::specifier::Bare;
use crate::unpack::{LARGEST, unpack};
use crate::worker::Asker;
use crate::{BundleError, LockedPackage};

/// Where packages are kept, below the folder of caches.
pub(crate) const PACKAGES: &str = "packages";
/// Downloads at once.
const DOWNLOADS_MAX: usize = 8;
/// Manifests kept in memory.
const MANIFESTS_MAX: usize = 5000;

pub(crate) struct Packages {
    registry: Registry,
    root: PathBuf,
    downloads: Semaphore,
    /// Installs under way, by folder: each is done once.
    installs: Mutex<HashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>>,
    manifests: Mutex<HashMap<PathBuf, Arc<Manifest>>>,
}

impl Packages {
    pub(crate) fn new(registry: Registry, cache_dir: &Path) -> Self {
        let root = cache_dir.join(PACKAGES);
        // The resolver answers with real paths: comparing needs the same.
        let root =
            std::fs::create_dir_all(&root).and_then(|()| root.canonicalize()).unwrap_or(root);
        Self {
            registry,
            root,
            downloads: Semaphore::new(DOWNLOADS_MAX),
            installs: Mutex::default(),
            manifests: Mutex::default(),
        }
    }

    /// Who fetches, where this process does not.
    pub(crate) fn asker(&self) -> Option<&Arc<Asker>> {
        self.registry.asker()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The Node range that an installed package wants, where the Node in use is older, with the
    /// version of that.
    pub(crate) fn wants_newer_node(
        &self,
        folder: &Path,
        import_name: &str,
    ) -> Option<(String, String)> {
        let node = self.registry.node()?;
        let (_, manifest) =
            self.owner(&folder.join("node_modules").join(import_name).join("package.json"))?;
        Some((wants_newer(&manifest.engines, node)?, node.to_string()))
    }

    pub(crate) async fn choose(
        &self,
        name: &str,
        range: &str,
        importer: &str,
    ) -> Result<Chosen, BundleError> {
        self.registry.choose(name, range, importer).await
    }

    /// Installs a package under the name it is imported by; gives the folder from which that name
    /// resolves to it.
    pub(crate) async fn install(
        &self,
        import_name: &str,
        package: &LockedPackage,
    ) -> Result<PathBuf, BundleError> {
        let folder = self.root.join(folder_name(import_name, package));
        if is_there(&folder).await {
            return Ok(folder);
        }
        let install = self.installs.lock().entry(folder.clone()).or_default().clone();
        let only = install.lock().await;
        let installed = if is_there(&folder).await {
            Ok(())
        } else {
            self.fetch(import_name, package, &folder).await
        };
        drop(only);
        self.installs.lock().remove(&folder);
        installed.map(|()| folder)
    }

    /// As [`Packages::install`], for a process that is not trusted with names.
    pub(crate) async fn install_for_another(
        &self,
        import_name: &str,
        package: &LockedPackage,
    ) -> Result<(), BundleError> {
        let is_name = |name: &str| Bare::parse(name).is_some_and(|bare| bare.name == name);
        // What it names becomes a folder and a part of an address.
        let is_version = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_digit())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+._~".contains(&b))
        };
        if !is_name(import_name) || !is_name(&package.name) || !is_version(&package.version) {
            let specifier =
                format!("{}@{}", package.name, package.version).chars().take(200).collect();
            return Err(BundleError::Unsupported {
                specifier,
                importer: "the bundler".into(),
                reason: "it is no package's name and version".into(),
            });
        }
        self.install(import_name, package).await.map(drop)
    }

    pub(crate) async fn refresh(&self, name: &str, importer: &str) -> Result<(), BundleError> {
        match Bare::parse(name).filter(|bare| bare.name == name) {
            Some(_) => self.registry.refresh(name, importer).await,
            None => Err(BundleError::PackageNotFound {
                name: name.chars().take(200).collect(),
                importer: importer.into(),
            }),
        }
    }

    async fn fetch(
        &self,
        import_name: &str,
        package: &LockedPackage,
        folder: &Path,
    ) -> Result<(), BundleError> {
        if let Some(asker) = self.registry.asker() {
            return asker.install(import_name, package).await;
        }
        let _place = self.downloads.acquire().await.map_err(internal)?;
        let archive = self.registry.archive(package).await?;
        let (root, target, name) =
            (self.root.clone(), folder.to_path_buf(), import_name.to_owned());
        let unpacked =
            tokio::task::spawn_blocking(move || unpack(&archive, &root, &target, &name, LARGEST))
                .await
                .map_err(internal)?;
        unpacked.map_err(|e| match e.kind() {
            ErrorKind::InvalidData => BundleError::Unpackable {
                package: format!("{}@{}", package.name, package.version),
                reason: e.to_string(),
            },
            _ => internal(e),
        })
    }

    /// Whether an installed package must be compiled before it works. One with a fallback in
    /// JavaScript works without.
    pub(crate) fn is_native(folder: &Path, import_name: &str) -> bool {
        let home = folder.join("node_modules").join(import_name);
        home.join("binding.gyp").exists()
            && !home.join("fallback.js").exists()
            && !main_of(&home).is_some_and(|code| has_another_way(&code))
    }

    /// Whether the nearest `package.json` above a file of the store calls code that ends in `.js`
    /// an ES module.
    pub(crate) fn is_module(&self, file: &Path) -> bool {
        file.ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(&self.root))
            .find_map(|folder| std::fs::read(folder.join("package.json")).ok())
            .and_then(|manifest| millrace_model::json::from_slice::<Value>(&manifest).ok())
            .is_some_and(|manifest| manifest["type"] == "module")
    }

    /// The package that a file in the store belongs to: the label of its folder, and its manifest.
    /// A package that another one bundles has the other's label, and a manifest of its own.
    pub(crate) fn owner(&self, file: &Path) -> Option<(String, Arc<Manifest>)> {
        let below = file.strip_prefix(&self.root).ok()?;
        let folder = below.components().next()?.as_os_str().to_str()?.to_owned();
        let manifest = self.homes(file).iter().rev().find_map(|home| self.manifest(home))?;
        Some((folder, manifest))
    }

    /// Whether a file finds a package that came in the archive of its own one, as Node looks for
    /// it: npm fetches no other.
    pub(crate) fn has_bundled(&self, file: &Path, name: &str) -> bool {
        let homes = self.homes(file);
        let Some(outermost) = homes.first() else { return false };
        file.ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(outermost))
            .any(|folder| folder.join("node_modules").join(name).is_dir())
    }

    /// The manifest of the package in a folder, and those of the packages that it bundles, each
    /// with its folder.
    pub(crate) fn with_bundled(&self, home: &Path) -> Vec<(PathBuf, Arc<Manifest>)> {
        let mut found = Vec::new();
        let mut waiting = vec![home.to_path_buf()];
        while let Some(home) = waiting.pop() {
            for folder in folders_of(&home.join("node_modules")) {
                let is_scope = folder.file_name().is_some_and(is_scope);
                waiting.extend(if is_scope { folders_of(&folder) } else { vec![folder] });
            }
            found.extend(self.manifest(&home).map(|manifest| (home, manifest)));
        }
        found
    }

    /// The folders of the packages that a file lies in, the outermost first.
    fn homes(&self, file: &Path) -> Vec<PathBuf> {
        let mut homes = Vec::new();
        let Ok(below) = file.strip_prefix(&self.root) else { return homes };
        let mut home = self.root.clone();
        let mut parts = below.components();
        while let Some(part) = parts.next() {
            home.push(part);
            if part.as_os_str() != "node_modules" {
                continue;
            }
            let Some(name) = parts.next() else { break };
            home.push(name);
            if is_scope(name.as_os_str()) {
                home.extend(parts.next());
            }
            homes.push(home.clone());
        }
        homes
    }

    fn manifest(&self, home: &Path) -> Option<Arc<Manifest>> {
        if let Some(known) = self.manifests.lock().get(home) {
            return Some(known.clone());
        }
        let manifest = Arc::new(Manifest::read(home)?);
        let mut manifests = self.manifests.lock();
        if manifests.len() >= MANIFESTS_MAX {
            manifests.clear();
        }
        manifests.insert(home.to_path_buf(), manifest.clone());
        Some(manifest)
    }
}

fn is_scope(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"@")
}

fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).map(|entry| entry.path()).collect()
}

/// The folder of the store that a package has under the name by which it is imported.
pub(crate) fn folder_name(import_name: &str, package: &LockedPackage) -> String {
    let alias = if import_name == package.name {
        String::new()
    } else {
        format!("+{}", import_name.replace('/', "+"))
    };
    format!("{}@{}{alias}", package.name.replace('/', "+"), package.version.replace('/', "+"))
}

async fn is_there(folder: &Path) -> bool {
    tokio::fs::try_exists(folder).await.unwrap_or(false)
}

fn internal(error: impl std::error::Error + Send + Sync + 'static) -> BundleError {
    BundleError::Internal { what: "could not install a package", source: Box::new(error) }
}

/// The code that `require` of a package gets, where its `main` or `index.js` is a file.
fn main_of(home: &Path) -> Option<String> {
    let manifest = std::fs::read_to_string(home.join("package.json")).ok()?;
    let manifest: serde_json::Value = millrace_model::json::from_str(&manifest).ok()?;
    let main = manifest.get("main").and_then(serde_json::Value::as_str).unwrap_or("index.js");
    if Path::new(main)
        .components()
        .any(|part| matches!(part, Component::ParentDir | Component::RootDir))
    {
        return None;
    }
    let path = home.join(main);
    [path.clone(), path.with_added_extension("js"), path.join("index.js")]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
}
