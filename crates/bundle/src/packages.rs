//! Machine-wide store of packages: `<root>/<name>@<version>/node_modules/<name>/…`, so that the
//! usual resolution from `<root>/<name>@<version>/` finds exactly that version. Nothing of a
//! package is run.

use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::optional_modules::has_another_way;
use crate::registry::{Chosen, Registry, wants_newer};
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

/// What a package's own manifest says of others.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Manifest {
    dependencies: BTreeMap<String, String>,
    peer_dependencies: BTreeMap<String, String>,
    peer_dependencies_meta: BTreeMap<String, PeerMeta>,
    optional_dependencies: BTreeMap<String, String>,
    /// Which Node it wants, as its author wrote it.
    engines: Value,
    /// What may be imported of it; nothing where it does not say.
    exports: Value,
    /// What `#names` within the package mean.
    imports: serde_json::Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PeerMeta {
    optional: bool,
}

/// What a package says of one that it imports.
pub(crate) enum Wanted {
    Range(String),
    /// It can do without, but npm would try.
    Optional(String),
    /// It takes what its users bring.
    Peer(String),
    /// It takes what its users bring, or does without.
    OptionalPeer(String),
    Undeclared,
}

impl Manifest {
    /// Whether a path of a file within the package may be imported.
    pub(crate) fn opens_all(&self) -> bool {
        self.exports.is_null()
    }

    /// The packages that it names; an optional peer may stand in the second list of peers alone.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let peers = self.peer_dependencies.keys().chain(self.peer_dependencies_meta.keys());
        self.dependencies
            .keys()
            .chain(self.optional_dependencies.keys())
            .chain(peers)
            .map(String::as_str)
    }

    pub(crate) fn wanted(&self, name: &str) -> Wanted {
        if let Some(range) = self.optional_dependencies.get(name) {
            return Wanted::Optional(range.clone());
        }
        if let Some(range) = self.dependencies.get(name) {
            return Wanted::Range(range.clone());
        }
        let peer = self.peer_dependencies.get(name);
        if self.peer_dependencies_meta.get(name).is_some_and(|meta| meta.optional) {
            return Wanted::OptionalPeer(peer.cloned().unwrap_or_else(|| "*".into()));
        }
        peer.map_or(Wanted::Undeclared, |range| Wanted::Peer(range.clone()))
    }

    /// The package that a `#name` stands for, where it stands for one: other packages are not
    /// beside this one, so that the usual resolution does not find them.
    pub(crate) fn imported_package(&self, name: &str, is_require: bool) -> Option<String> {
        fn find<'a>(target: &'a Value, kind: &str) -> Option<&'a str> {
            match target {
                Value::String(text) => Some(text),
                Value::Array(list) => list.iter().find_map(|t| find(t, kind)),
                Value::Object(map) => map
                    .iter()
                    .filter(|(k, _)| matches!(k.as_str(), "node" | "default") || *k == kind)
                    .find_map(|(_, t)| find(t, kind)),
                _ => None,
            }
        }
        let target = find(self.imports.get(name)?, if is_require { "require" } else { "import" })?;
        (!target.starts_with('.')).then(|| target.to_owned())
    }
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
            .and_then(|manifest| serde_json::from_slice::<Value>(&manifest).ok())
            .is_some_and(|manifest| manifest["type"] == "module")
    }

    /// The package that a file in the store belongs to: its label and manifest.
    pub(crate) fn owner(&self, file: &Path) -> Option<(String, Arc<Manifest>)> {
        let below = file.strip_prefix(&self.root).ok()?;
        let folder = below.components().next()?.as_os_str().to_str()?.to_owned();
        let mut parts = below.components().skip(1);
        let node_modules = parts.next()?;
        let first = parts.next()?.as_os_str().to_str()?.to_owned();
        let name = if first.starts_with('@') {
            format!("{first}/{}", parts.next()?.as_os_str().to_str()?)
        } else {
            first
        };
        let home = self.root.join(&folder).join(node_modules).join(name);
        if let Some(known) = self.manifests.lock().get(&home) {
            return Some((folder, known.clone()));
        }
        let text = std::fs::read_to_string(home.join("package.json")).ok()?;
        let manifest = Arc::new(serde_json::from_str::<Manifest>(&text).unwrap_or_default());
        let mut manifests = self.manifests.lock();
        if manifests.len() >= MANIFESTS_MAX {
            manifests.clear();
        }
        manifests.insert(home, manifest.clone());
        Some((folder, manifest))
    }
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
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
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
