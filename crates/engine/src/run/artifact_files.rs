//! Files of artifacts, which hosts load: written from the store where they are missing, and removed
//! once nothing has used them for a day. Code that was tried and never stored leaves nothing else.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use millrace_bundle::Lock;
use millrace_model::Timestamp;
use millrace_model::component::{Artifact, Beside};
use millrace_model::own_files::{bytes_of, problem_of_part};
use millrace_runner::{ModuleSpec, OWN_FILES, Packages};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::RwLock;

use crate::background::{Activation, Background, Next, Task};
use crate::run::program::Program;
use crate::{Engine, EngineError};

/// The ending of the file beside a module that names the packages there.
const BESIDE: &str = "beside.json";
/// Files that were last used so long ago are removed.
const UNUSED_MAX: Duration = Duration::from_secs(24 * 3600);
/// A use is written down as the time of the file's change, where the last one is so long ago.
const NOTED_EVERY: Duration = Duration::from_secs(3600);
/// How often files are looked at, by the server's clock, and how often that is looked at.
const LOOK_EVERY_MS: i64 = 3_600_000;
const POLL: Duration = Duration::from_secs(2);

/// Held while files are written or found, and alone while those of an artifact are removed.
pub(crate) type ArtifactFiles = RwLock<()>;

/// The package lock as it is stored: the versions, and what lies beside the bundle. With it and the
/// checksums the packages can be had again.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredLock {
    #[serde(flatten)]
    pub(crate) lock: Lock,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<Beside>,
}

impl Engine {
    /// Whether an artifact is there, which counts as a use. One without anything in it is what a
    /// loss of power left of it.
    async fn take(&self, path: &Path) -> bool {
        let Ok(file) = tokio::fs::metadata(path).await else { return false };
        if file.len() == 0 {
            return false;
        }
        if is_older(&file, self.now(), NOTED_EVERY) {
            note_use(vec![path.to_owned()], self.now()).await;
        }
        true
    }

    /// The module of a stored artifact, written from the store where it is missing.
    pub(crate) async fn stored_module(
        &self,
        name: &str,
        id: &str,
    ) -> Result<ModuleSpec, EngineError> {
        let _stays = self.0.artifact_files.read().await;
        let path = self.0.config.artifact_dir.join(format!("{id}.mjs"));
        if self.take(&path).await {
            return self.with_packages(name, path).await;
        }
        let artifact = self.0.store.artifact(id).await?.ok_or_else(|| {
            EngineError::damaged(
                "the built code of a component",
                format!("the artifact `{id}` is missing in the store"),
            )
        })?;
        let path = self.artifact_path(&artifact).await?;
        self.with_packages(name, path).await
    }

    /// The module of an artifact.
    pub(crate) async fn module(
        &self,
        name: &str,
        artifact: &Artifact,
    ) -> Result<ModuleSpec, EngineError> {
        let _stays = self.0.artifact_files.read().await;
        let path = self.artifact_path(artifact).await?;
        self.with_packages(name, path).await
    }

    /// A module whose file is there, and the list of the packages beside it.
    /// [`Engine::install_beside`] installs those.
    async fn with_packages(
        &self,
        name: &str,
        path: std::path::PathBuf,
    ) -> Result<ModuleSpec, EngineError> {
        const LIST: &str = "the list of what lies beside an artifact";
        let packages = match tokio::fs::read(path.with_extension(BESIDE)).await {
            Ok(text) => {
                let beside: Beside = millrace_model::json::from_slice(&text)
                    .map_err(|error| EngineError::damaged(LIST, error))?;
                Some(Arc::new(Packages { store: self.0.bundler.package_store(), beside }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(EngineError::damaged(LIST, error)),
        };
        Ok(ModuleSpec { name: name.to_owned(), path, packages })
    }

    async fn artifact_path(&self, artifact: &Artifact) -> Result<std::path::PathBuf, EngineError> {
        let dir = &self.0.config.artifact_dir;
        let path = dir.join(format!("{}.mjs", artifact.id));
        if self.take(&path).await {
            return Ok(path);
        }
        let failed = |e| EngineError::internal("could not write an artifact for its host", e);
        let map_name = format!("{}.mjs.map", artifact.id);
        let mut code = artifact.code.clone();
        if let Some(map) = &artifact.source_map {
            self.write_whole(&dir.join(&map_name), map.as_bytes()).await.map_err(failed)?;
            code = format!("{}\n//# sourceMappingURL={map_name}\n", code.trim_end());
        }
        let lock: StoredLock = millrace_model::json::from_str(&artifact.lock)
            .map_err(|e| EngineError::damaged("the package lock of an artifact", e))?;
        if let Some(mut beside) = lock.beside {
            // First: a module that is there has what lies beside it.
            let own = std::mem::take(&mut beside.files);
            if !own.is_empty() {
                self.write_own_files(&path.with_extension(OWN_FILES), own).await.map_err(failed)?;
            }
            let text = serde_json::to_vec(&beside).map_err(|e| {
                EngineError::internal("could not write what lies beside an artifact", e)
            })?;
            self.write_whole(&path.with_extension(BESIDE), &text).await.map_err(failed)?;
        }
        self.write_whole(&path, code.as_bytes()).await.map_err(failed)?;
        Ok(path)
    }

    /// An author's own files as a folder, which is there whole or not at all. Their names come from
    /// a process that read what strangers wrote: they are checked here.
    async fn write_own_files(
        &self,
        folder: &Path,
        files: BTreeMap<String, String>,
    ) -> std::io::Result<()> {
        if files.keys().any(|path| path.split('/').any(|part| problem_of_part(part).is_some())) {
            return Err(std::io::Error::other(
                "a path of what lies beside an artifact leads out of its folder",
            ));
        }
        let part = folder.with_extension(format!("{}.part", self.0.ids.base62(8)));
        let folder = folder.to_path_buf();
        let written = tokio::task::spawn_blocking(move || {
            let written = files.iter().try_for_each(|(path, text)| {
                let file = part.join(path);
                std::fs::create_dir_all(file.parent().unwrap_or(&part))?;
                let mut file = std::fs::File::create(file)?;
                file.write_all(&bytes_of(text))?;
                file.sync_all()
            });
            let moved = written.and_then(|()| match std::fs::rename(&part, &folder) {
                // Another call was first: they are the same.
                Err(_) if folder.is_dir() => std::fs::remove_dir_all(&part),
                moved => moved,
            });
            if moved.is_err() {
                // On a full disk each attempt would leave some.
                let _ = std::fs::remove_dir_all(&part);
            }
            moved
        });
        written.await.unwrap_or_else(|e| Err(std::io::Error::other(e)))
    }

    /// A reader sees the whole file or none, also after a loss of power: its name may be on the
    /// disk before what is in it.
    async fn write_whole(&self, path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
        let part = path.with_extension(format!("{}.part", self.0.ids.base62(8)));
        let written = async {
            let mut file = tokio::fs::File::create(&part).await?;
            file.write_all(bytes).await?;
            file.flush().await?;
            file.sync_all().await?;
            tokio::fs::rename(&part, path).await
        };
        let written = written.await;
        if written.is_err() {
            // On a full disk each attempt would leave some.
            let _ = tokio::fs::remove_file(&part).await;
        }
        written
    }

    /// Files of the programs that are in memory: a host may load them at any time.
    fn files_in_use(&self) -> Vec<PathBuf> {
        let programs = self.0.programs.all();
        let isolates = programs.iter().filter_map(|program| match &**program {
            Program::Source(p) => Some(&p.isolate),
            Program::Workflow(p) => Some(&p.isolate),
            Program::Damaged(_) => None,
        });
        isolates.flat_map(|isolate| isolate.modules.iter().map(|m| m.path.clone())).collect()
    }

    pub(crate) fn artifact_pruner(&self) -> ArtifactPruner {
        ArtifactPruner { engine: self.clone(), looked_at: None }
    }
}

/// Removes the files of artifacts that nothing uses.
pub(crate) struct ArtifactPruner {
    engine: Engine,
    looked_at: Option<Timestamp>,
}

impl Background for ArtifactPruner {
    const TASK: Task = Task::ArtifactPruner;

    async fn activate(&mut self, now: &Activation) -> Next {
        let at = self.engine.now();
        if self.looked_at.is_some_and(|last| (0..LOOK_EVERY_MS).contains(&at.since(last))) {
            return Next::After(POLL);
        }
        self.looked_at = Some(at);
        match self.prune(now).await {
            Ok(0) => {}
            Ok(artifacts) => tracing::info!(artifacts, "files of unused artifacts were removed"),
            Err(error) => now.warned("could not remove the files of unused artifacts", &error),
        }
        Next::After(POLL)
    }
}

impl ArtifactPruner {
    async fn prune(&self, activation: &Activation) -> std::io::Result<usize> {
        let engine = &self.engine;
        note_use(engine.files_in_use(), engine.now()).await;
        let dir = engine.0.config.artifact_dir.clone();
        let now = engine.now();
        let unused = blocking(move || {
            let mut found = artifacts_of(&dir)?;
            found.retain(|_, paths| is_unused(paths, now));
            Ok(found)
        });
        let mut removed = 0;
        for (id, paths) in unused.await? {
            if activation.stop.is_cancelled() {
                break;
            }
            let _alone = engine.0.artifact_files.write().await;
            let now = engine.now();
            // Looked at again: it may have been used meanwhile.
            let gone = blocking(move || is_unused(&paths, now).then(|| remove(paths)).transpose());
            if gone.await?.is_some() {
                tracing::debug!(artifact.id = id, "the files of an unused artifact were removed");
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// What lies in the folder, by the artifact that it belongs to; its module first.
fn artifacts_of(dir: &Path) -> std::io::Result<HashMap<String, Vec<PathBuf>>> {
    let mut found: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (id, ending) = name.split_once('.').unwrap_or_default();
        if !is_hash(id) {
            continue;
        }
        let (id, is_module) = (id.to_owned(), ending == "mjs");
        let of = found.entry(id).or_default();
        of.insert(if is_module { 0 } else { of.len() }, path);
    }
    Ok(found)
}

/// Whether nothing has used an artifact for long: its module's file says so, or where there is
/// none, each part that is left.
fn is_unused(paths: &[PathBuf], now: Timestamp) -> bool {
    let is_module = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "mjs");
    let deciding = if paths.first().is_some_and(is_module) { &paths[..1] } else { paths };
    deciding
        .iter()
        .all(|path| std::fs::metadata(path).is_ok_and(|file| is_older(&file, now, UNUSED_MAX)))
}

/// The module goes first: what is left without it is written again as a whole.
fn remove(paths: Vec<PathBuf>) -> std::io::Result<()> {
    for path in paths {
        let removed = match path.symlink_metadata() {
            Ok(file) if file.is_dir() => std::fs::remove_dir_all(&path),
            _ => std::fs::remove_file(&path),
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_older(file: &std::fs::Metadata, now: Timestamp, than: Duration) -> bool {
    let age = file.modified().ok().and_then(|at| time_of(now).duration_since(at).ok());
    age.is_some_and(|age| age > than)
}

/// Where it cannot be written down, the file is written again one day.
async fn note_use(paths: Vec<PathBuf>, now: Timestamp) {
    let noted = blocking(move || {
        for path in paths {
            let Ok(file) = std::fs::File::open(&path) else { continue };
            if file.metadata().is_ok_and(|of| is_older(&of, now, NOTED_EVERY)) {
                let _ = file.set_modified(time_of(now));
            }
        }
        Ok(())
    });
    let _ = noted.await;
}

fn time_of(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.ms()).unwrap_or(0))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(std::io::Error::other(e)))
}

/// Whether a text is a SHA-256 in hex.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
