//! Search over the texts of runs.

use async_trait::async_trait;
use millrace_model::ids::OrgId;
use millrace_model::page::Page;
use millrace_model::search::AskedWord;
use millrace_store::{
    FoundRuns, IndexState, IndexStep, RunFilter, Search, StoreResult, fail_point,
};

use crate::{SqliteStore, search};

#[async_trait]
impl Search for SqliteStore {
    async fn index_runs(&self, step: IndexStep) -> StoreResult<u32> {
        let open_after = self.open_after.clone();
        let written = self
            .db
            .read_history(move |c| {
                let found = search::find(c, &step, &mut open_after.lock())?;
                let is_due = found.is_empty() && search::is_sweep_due(c, &step)?;
                Ok((!found.is_empty() || is_due).then(|| search::split(found)))
            })
            .await?;
        let Some(written) = written else { return Ok(0) };
        let looked_at = written.looked_at.max(1);
        write_at!(self, "index_runs", |c| search::write(c, &written, &step).map(|()| looked_at))
    }
    async fn index_state(&self, org: &OrgId) -> StoreResult<IndexState> {
        let org = org.clone();
        self.db.read_history(move |c| search::state(c, &org)).await
    }
    async fn search_runs(
        &self,
        org: &OrgId,
        words: &[Vec<AskedWord>],
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> StoreResult<FoundRuns> {
        let (org, words, filter, page) =
            (org.clone(), words.to_vec(), filter.clone(), page.clone());
        self.db.read_history(move |c| search::search(c, &org, &words, &filter, whole, &page)).await
    }
}
