//! The machine-wide store of packages: `<root>/<name>@<version>/node_modules/<name>/…`, so that the usual resolution from
//! `<root>/<name>@<version>/` finds exactly that version. Nothing of a package is run.

use std::collections::{BTreeMap, HashMap};
use std::io::{Error, ErrorKind, Read as _};
use std::path::{Component as PathPart, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::registry::{Chosen, Registry};
use crate::specifier::Bare;
use crate::worker::Asker;
use crate::{BundleError, LockedPackage, tape};

/// Where packages are kept, below the folder of caches.
pub(crate) const PACKAGES: &str = "packages";
/// Downloads at once.
const DOWNLOADS_MAX: usize = 8;
/// Manifests kept in memory.
const MANIFESTS_MAX: usize = 5000;
/// The largest package: the largest known ones have some ten thousand files.
pub(crate) const LARGEST: Size = Size { bytes: 512 << 20, entries: 200_000 };
/// The most characters of a package's path that an error shows.
const PATH_SHOWN: usize = 100;
/// What a package's folder is called while it is unpacked, before the number of the process that does it.
const PART: &str = ".part-";

/// What a package unpacks to.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// In files that are kept. What is decompressed may be twice as much.
    pub(crate) bytes: u64,
    /// Files and whatever else an archive has.
    entries: usize,
}

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
    /// It takes what the author brings, or does without.
    OptionalPeer(String),
    Undeclared,
}

impl Manifest {
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
        peer.map_or(Wanted::Undeclared, |range| Wanted::Range(range.clone()))
    }

    /// The package that a `#name` stands for, where it stands for one: other packages are not beside this one, so that the
    /// usual resolution does not find them.
    pub(crate) fn imported_package(&self, name: &str, is_require: bool) -> Option<String> {
        fn find<'a>(target: &'a Value, kind: &str) -> Option<&'a str> {
            match target {
                Value::String(text) => Some(text),
                Value::Array(list) => list.iter().find_map(|t| find(t, kind)),
                Value::Object(map) => map.iter().filter(|(k, _)| matches!(k.as_str(), "node" | "default") || *k == kind).find_map(|(_, t)| find(t, kind)),
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
        let root = std::fs::create_dir_all(&root).and_then(|()| root.canonicalize()).unwrap_or(root);
        if registry.asker().is_none() {
            remove_left(&root);
        }
        Self { registry, root, downloads: Semaphore::new(DOWNLOADS_MAX), installs: Mutex::default(), manifests: Mutex::default() }
    }

    /// Who fetches, where this process does not.
    pub(crate) fn asker(&self) -> Option<&Arc<Asker>> {
        self.registry.asker()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) async fn choose(&self, name: &str, range: &str, importer: &str) -> Result<Chosen, BundleError> {
        self.registry.choose(name, range, importer).await
    }

    /// Installs a package under the name it is imported by; gives the folder from which that name resolves to it.
    pub(crate) async fn install(&self, import_name: &str, package: &LockedPackage) -> Result<PathBuf, BundleError> {
        let alias = if import_name == package.name { String::new() } else { format!("+{}", import_name.replace('/', "+")) };
        let folder = self.root.join(format!("{}@{}{alias}", package.name.replace('/', "+"), package.version.replace('/', "+")));
        if is_there(&folder).await {
            return Ok(folder);
        }
        let install = self.installs.lock().entry(folder.clone()).or_default().clone();
        let only = install.lock().await;
        let installed = if is_there(&folder).await { Ok(()) } else { self.fetch(import_name, package, &folder).await };
        drop(only);
        self.installs.lock().remove(&folder);
        installed.map(|()| folder)
    }

    /// As [`Packages::install`], for a process that is not trusted with names.
    pub(crate) async fn install_for_another(&self, import_name: &str, package: &LockedPackage) -> Result<(), BundleError> {
        let is_name = |name: &str| Bare::parse(name).is_some_and(|bare| bare.name == name);
        // What it names becomes a folder and a part of an address.
        let is_version =
            |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+._~".contains(&b));
        if !is_name(import_name) || !is_name(&package.name) || !is_version(&package.version) {
            let specifier = format!("{}@{}", package.name, package.version).chars().take(200).collect();
            return Err(BundleError::Unsupported { specifier, importer: "the bundler".into(), reason: "it is no package's name and version".into() });
        }
        self.install(import_name, package).await.map(drop)
    }

    pub(crate) async fn refresh(&self, name: &str, importer: &str) -> Result<(), BundleError> {
        match Bare::parse(name).filter(|bare| bare.name == name) {
            Some(_) => self.registry.refresh(name, importer).await,
            None => Err(BundleError::PackageNotFound { name: name.chars().take(200).collect(), importer: importer.into() }),
        }
    }

    async fn fetch(&self, import_name: &str, package: &LockedPackage, folder: &Path) -> Result<(), BundleError> {
        if let Some(asker) = self.registry.asker() {
            return asker.install(import_name, package).await;
        }
        let _place = self.downloads.acquire().await.map_err(internal)?;
        let archive = self.registry.archive(package).await?;
        let (root, target, name) = (self.root.clone(), folder.to_path_buf(), import_name.to_owned());
        let unpacked = tokio::task::spawn_blocking(move || unpack(&archive, &root, &target, &name, LARGEST)).await.map_err(internal)?;
        unpacked.map_err(|e| match e.kind() {
            ErrorKind::InvalidData => BundleError::Unpackable { package: format!("{}@{}", package.name, package.version), reason: e.to_string() },
            _ => internal(e),
        })
    }

    /// Whether an installed package must be compiled before it works. One with a fallback in JavaScript works without.
    pub(crate) fn is_native(folder: &Path, import_name: &str) -> bool {
        let home = folder.join("node_modules").join(import_name);
        home.join("binding.gyp").exists() && !home.join("fallback.js").exists()
    }

    /// The package that a file in the store belongs to: its label and manifest.
    pub(crate) fn owner(&self, file: &Path) -> Option<(String, Arc<Manifest>)> {
        let below = file.strip_prefix(&self.root).ok()?;
        let folder = below.components().next()?.as_os_str().to_str()?.to_owned();
        let mut parts = below.components().skip(1);
        let node_modules = parts.next()?;
        let first = parts.next()?.as_os_str().to_str()?.to_owned();
        let name = if first.starts_with('@') { format!("{first}/{}", parts.next()?.as_os_str().to_str()?) } else { first };
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

async fn is_there(folder: &Path) -> bool {
    tokio::fs::try_exists(folder).await.unwrap_or(false)
}

fn internal(error: impl std::error::Error + Send + Sync + 'static) -> BundleError {
    BundleError::Internal { what: "could not install a package", source: Box::new(error) }
}

/// Unpacks beside the target and moves it there whole: a crash leaves no half package.
///
/// # Errors
/// Of the kind [`ErrorKind::InvalidData`], in words, where the archive is at fault; else those of the disk.
fn unpack(archive: &[u8], root: &Path, target: &Path, name: &str, max: Size) -> std::io::Result<()> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let part = root.join(format!("{PART}{}-{number}", std::process::id()));
    // Left by a process that had this one's number: they are small and come again in containers.
    let cleared = match std::fs::remove_dir_all(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let unpacked = cleared.and_then(|()| unpack_into(archive, &part.join("node_modules").join(name), max));
    // A loss of power may leave a name without what it stands for, and a package that is there is never unpacked again.
    let kept = unpacked.and_then(|()| Ok(rustix::fs::syncfs(std::fs::File::open(&part)?)?));
    let moved = kept.and_then(|()| match std::fs::rename(&part, target) {
        Ok(()) => Ok(()),
        // Another process was first.
        Err(_) if target.exists() => Ok(()),
        Err(e) => Err(e),
    });
    if part.exists() {
        // Only scratch: what stays is of no use and no harm.
        let _ = std::fs::remove_dir_all(&part);
    }
    moved
}

/// Removes what processes left that were ended while they unpacked: their time was over, or the machine's.
fn remove_left(root: &Path) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(made_by) = name.to_str().and_then(|name| name.strip_prefix(PART)?.split('-').next()) else { continue };
        if !Path::new("/proc").join(made_by).exists() {
            // The next one tries again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn unpack_into(archive: &[u8], home: &Path, max: Size) -> std::io::Result<()> {
    std::fs::create_dir_all(home)?;
    let mut left = max.bytes;
    // What is left out is decompressed as well: the limit is on that too.
    tape::files(flate2::read::GzDecoder::new(archive).take(2 * max.bytes), max.entries, |path, entry| {
        // The first part is the archive's own folder, mostly `package`. Links and what climbs out are left out.
        let path: PathBuf = path.components().skip(1).collect();
        if path.as_os_str().is_empty() || path.components().any(|p| !matches!(p, PathPart::Normal(_))) {
            return Ok(());
        }
        let too_large = || Error::new(ErrorKind::InvalidData, format!("its files have more than {} bytes, the limit", max.bytes));
        // The process may write no larger file, which the disk would say in other words.
        if entry.size() > left {
            return Err(too_large());
        }
        let target = home.join(&path);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(|e| of_the_name(&path, e))?;
        }
        let mut file = std::fs::File::create(&target).map_err(|e| of_the_name(&path, e))?;
        // What the disk says of a file has a number; what else ends the copy is in the archive.
        let read = |e: Error| if e.raw_os_error().is_some() { e } else { Error::new(ErrorKind::InvalidData, e.to_string()) };
        let written = std::io::copy(&mut entry.take(left + 1), &mut file).map_err(read)?;
        left = left.checked_sub(written).ok_or_else(too_large)?;
        Ok(())
    })
}

/// Why a file cannot be made. An archive may name what no folder can hold.
fn of_the_name(path: &Path, error: Error) -> Error {
    let shown: String = path.display().to_string().chars().take(PATH_SHOWN).collect();
    let reason = match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::IsADirectory | ErrorKind::NotADirectory => format!("`{shown}` is a file and a folder in it"),
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => format!("`{shown}` in it is no path that the disk takes"),
        _ => return error,
    };
    Error::new(ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// An archive of entries as an attacker would write them: a kind, a name that is not looked at, and what it holds.
    fn archive<'a>(entries: impl IntoIterator<Item = (tar::EntryType, &'a str, &'a [u8])>) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for (kind, name, bytes) in entries {
            let mut header = tar::Header::new_ustar();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(kind);
            header.set_mode(0o6777);
            header.set_size(bytes.len() as u64);
            if !kind.is_file() {
                header.set_link_name("/etc/passwd").expect("fits");
            }
            header.set_cksum();
            packed.write_all(header.as_bytes()).expect("writes");
            packed.write_all(bytes).expect("writes");
            packed.write_all(&vec![0; bytes.len().next_multiple_of(512) - bytes.len()]).expect("writes");
        }
        packed.write_all(&[0; 1024]).expect("writes");
        packed.finish().expect("packs")
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(folder).expect("reads").map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn packages_keep_to_their_folder_and_are_plain_files() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("packages");
        std::fs::create_dir(&root).expect("makes");
        let file = tar::EntryType::Regular;
        let packed = archive([
            (file, "package/index.js", &b"1"[..]),
            (file, "package/../../../../climbed", b"2"),
            (file, "../../climbed", b"3"),
            (file, "/climbed/climbed", b"4"),
            (file, "package/a/../../../climbed", b"5"),
            (tar::EntryType::Symlink, "package/link", b""),
            (file, "package/link/climbed", b"6"),
            (tar::EntryType::Link, "package/hard", b""),
            (tar::EntryType::Char, "package/device", b""),
            (tar::EntryType::Fifo, "package/pipe", b""),
        ]);
        unpack(&packed, &root, &root.join("x@1"), "x", LARGEST).expect("unpacks");
        assert_eq!(names(dir.path()), ["packages"]);
        assert_eq!(names(&root), ["x@1"]);
        let home = root.join("x@1/node_modules/x");
        assert_eq!(names(&home), ["climbed", "index.js", "link"]);
        assert!(home.join("link").symlink_metadata().expect("there").is_dir());
        assert_eq!(home.join("index.js").metadata().expect("there").permissions().mode() & 0o6111, 0, "no program, and nobody else's");
    }

    #[test]
    fn packages_without_end_are_refused_and_leave_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let max = Size { bytes: 1 << 20, entries: 100 };
        let file = tar::EntryType::Regular;
        let many = archive((0..=max.entries).map(|_| (file, "package/x", &b""[..])));
        let zeros = vec![0; 600 << 10];
        let large = archive((0..2).map(|_| (file, "package/x", &zeros[..])));
        // Decompressed and left out: it is no plain file.
        let bomb = archive((0..4).map(|_| (tar::EntryType::Continuous, "package/x", &zeros[..])));
        for packed in [many, large, bomb] {
            assert!(unpack(&packed, dir.path(), &dir.path().join("x@1"), "x", max).is_err());
            assert_eq!(names(dir.path()), [""; 0]);
        }
    }

    #[test]
    fn what_an_ended_process_left_is_removed_and_what_is_under_way_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let (own, ended) = (format!("{PART}{}-7", std::process::id()), format!("{PART}4194999-0"));
        for name in [own.as_str(), &ended, "x@1"] {
            std::fs::create_dir_all(dir.path().join(name).join("node_modules")).expect("makes");
        }
        remove_left(dir.path());
        assert_eq!(names(dir.path()), [own, "x@1".to_owned()]);
    }

    #[test]
    fn what_a_process_with_the_same_number_left_is_no_part_of_a_package() {
        let dir = tempfile::tempdir().expect("a folder");
        for number in 0..100 {
            let left = dir.path().join(format!("{PART}{}-{number}/node_modules/x", std::process::id()));
            std::fs::create_dir_all(&left).expect("makes");
            std::fs::write(left.join("left.js"), "").expect("writes");
        }
        let packed = archive([(tar::EntryType::Regular, "package/index.js", &b"1"[..])]);
        unpack(&packed, dir.path(), &dir.path().join("x@1"), "x", LARGEST).expect("unpacks");
        assert_eq!(names(&dir.path().join("x@1/node_modules/x")), ["index.js"]);
    }
}
