//! Search over the texts of runs.

use async_trait::async_trait;
use millrace_model::ids::OrgId;
use millrace_model::page::Page;
use millrace_model::search::AskedWord;
use millrace_store::{FoundRuns, IndexState, IndexStep, RunFilter, Search, StoreResult};

use crate::db::transaction;
use crate::{PostgresStore, search};

#[async_trait]
impl Search for PostgresStore {
    async fn index_runs(&self, step: IndexStep) -> StoreResult<u32> {
        if search::is_idle(&self.db.client().await?, &step).await? {
            return Ok(0);
        }
        let mut open_after = self.open_after.lock().await.clone();
        let looked_at =
            transaction!(self.db, "index_runs", |t| search::index(&t, &step, &mut open_after))?;
        *self.open_after.lock().await = open_after;
        Ok(looked_at)
    }
    async fn index_state(&self, org: &OrgId) -> StoreResult<IndexState> {
        search::state(&self.db.client().await?, org).await
    }
    async fn search_runs(
        &self,
        org: &OrgId,
        words: &[Vec<AskedWord>],
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> StoreResult<FoundRuns> {
        search::search(&self.db.client().await?, org, words, filter, whole, page).await
    }
}
