//! Indexing of uploaded trees by the bundler, with the cache of their indexes.

use std::collections::BTreeMap;

use millrace_fair::Class;

use crate::index_cache::IndexCache;
use crate::{BundleError, Bundler, Index, UploadedTree, Work};

impl Bundler {
    /// Indexes an uploaded tree (see [`Index::of`]), and gives its files back. What was left out of
    /// it is not indexed either. A server reads only the files anew that changed since it indexed
    /// the tree of that name. It waits however many do: who asks bounds how many trees there are at
    /// once.
    pub async fn index(
        &self,
        tree: &str,
        uploaded: UploadedTree,
    ) -> Result<(Index, BTreeMap<String, String>), BundleError> {
        let UploadedTree { files, left_out } = uploaded;
        let (mut index, files) = self.index_files(tree, files).await?;
        index.unindexed.extend(left_out);
        index.unindexed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((index, files))
    }

    async fn index_files(
        &self,
        tree: &str,
        files: BTreeMap<String, String>,
    ) -> Result<(Index, BTreeMap<String, String>), BundleError> {
        // Refused so late, all of its upload and unpacking would be in vain.
        let _slot = self.slot_of(Class::UNBOUNDED).await?;
        match &self.work {
            Work::Here(_) => {
                tokio::task::spawn_blocking(move || (Index::of(&files, None), files)).await.map_err(
                    |e| BundleError::Internal { what: "the index broke down", source: Box::new(e) },
                )
            }
            Work::InProcesses(command) => {
                let known = IndexCache::of(&self.config.cache_dir, &command.program, tree);
                let earlier = match &known {
                    Some(known) => known.read().await,
                    None => None,
                };
                let (index, files) = command.index(&self.config, files, earlier).await?;
                if let Some(known) = known {
                    known.keep(&index).await;
                }
                Ok((index, files))
            }
        }
    }

    /// Forgets what it knows of the tree of that name.
    pub async fn forget_index(&self, tree: &str) {
        if let Work::InProcesses(command) = &self.work
            && let Some(known) = IndexCache::of(&self.config.cache_dir, &command.program, tree)
        {
            known.forget().await;
        }
    }
}
