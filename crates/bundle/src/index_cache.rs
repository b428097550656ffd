//! Index cache on the disk: a tree that is uploaded again is read anew only where it changed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Index;

/// Below the folder of caches.
const FOLDER: &str = "indexes";

/// An index, and which program made it: another may read the same code otherwise.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    made_by: String,
    index: T,
}

/// The place of a tree's index.
pub(crate) struct IndexCache {
    path: PathBuf,
    made_by: String,
}

impl IndexCache {
    /// The place of the tree of that name, made by that program; none where nobody can tell this
    /// program from others.
    pub(crate) fn of(cache_dir: &Path, program: &Path, tree: &str) -> Option<Self> {
        let program = std::fs::metadata(program).ok()?;
        let since = program.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        let name: String =
            Sha256::digest(tree.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self {
            path: cache_dir.join(FOLDER).join(format!("{name}.json")),
            made_by: format!("{} {}", program.len(), since.as_nanos()),
        })
    }

    /// The index that was kept; none where there is none, or not one of this program.
    pub(crate) async fn read(&self) -> Option<Index> {
        let bytes = tokio::fs::read(&self.path).await.ok()?;
        let kept: Kept<Index> = millrace_model::json::from_slice(&bytes).ok()?;
        (kept.made_by == self.made_by).then_some(kept.index)
    }

    /// Keeps an index. A cache: where that fails, the next one is made without.
    pub(crate) async fn keep(&self, index: &Index) {
        let kept = async {
            let bytes = serde_json::to_vec(&Kept { made_by: self.made_by.clone(), index })
                .map_err(std::io::Error::other)?;
            tokio::fs::create_dir_all(self.path.parent().unwrap_or(&self.path)).await?;
            let part = self.path.with_extension(format!("{}.part", std::process::id()));
            tokio::fs::write(&part, bytes).await?;
            tokio::fs::rename(&part, &self.path).await
        };
        if let Err(error) = kept.await {
            tracing::warn!(%error, "the index of a tree could not be kept");
        }
    }

    pub(crate) async fn forget(&self) {
        // One that is not there is forgotten.
        let _ = tokio::fs::remove_file(&self.path).await;
    }
}
