//! History and its retention.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::event::{Event, EventFilter, ListedEvent};
use millrace_model::ids::{EventId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::retention::Retention;
use millrace_model::run::{LogFilter, LogLine, OwnerLine, Run, RunKind};
use millrace_model::run_stats::VersionRuns;
use millrace_store::{
    EndedRuns, ExportFilter, Exported, History, Leftovers, Lineage, ListedRun, NewestOf, Pruning,
    RunFilter, RunState, StoreResult, run_row_columns,
};

use crate::db::transaction;
use crate::rows::one;
use crate::{PostgresStore, export, history, retention, rows};

#[async_trait]
impl History for PostgresStore {
    async fn run(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Run>> {
        by_id!(self, "runs", run_row_columns(), org, id, rows::run)
    }
    async fn run_bytes(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<u64>> {
        history::run_bytes(&self.db.client().await?, org, id).await
    }
    async fn lineage(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Lineage>> {
        history::lineage(&self.db.client().await?, org, id).await
    }
    async fn list_runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> StoreResult<Listing<ListedRun>> {
        history::runs(&self.db.client().await?, org, filter, whole, page).await
    }
    async fn matching_runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        after: Option<&(Timestamp, RunId)>,
        limit: u32,
    ) -> StoreResult<Vec<Run>> {
        history::matching_runs(&self.db.client().await?, org, filter, after, limit).await
    }
    async fn count_runs(&self, org: &OrgId, filter: &RunFilter, max: u32) -> StoreResult<u64> {
        history::count_runs(&self.db.client().await?, org, filter, max).await
    }
    async fn run_states(
        &self,
        org: &OrgId,
        owner: &str,
        from: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<RunState>> {
        history::run_states(&self.db.client().await?, org, owner, from, limit).await
    }
    async fn ended_runs(
        &self,
        org: &OrgId,
        owner: Option<&str>,
        kind: RunKind,
        within: (Timestamp, Timestamp),
        max: u32,
    ) -> StoreResult<EndedRuns> {
        history::ended_runs(&self.db.client().await?, org, owner, kind, within, max).await
    }
    async fn version_runs(&self, owner: &str, scan: u32) -> StoreResult<Vec<VersionRuns>> {
        history::version_runs(&self.db.client().await?, owner, scan).await
    }
    async fn run_logs(&self, id: &RunId) -> StoreResult<Vec<LogLine>> {
        history::logs(&self.db.client().await?, id).await
    }
    async fn owner_logs(
        &self,
        org: &OrgId,
        owner: &str,
        filter: &LogFilter,
        limit: u32,
    ) -> StoreResult<Vec<OwnerLine>> {
        history::owner_logs(&self.db.client().await?, org, owner, filter, limit).await
    }
    async fn list_events(
        &self,
        org: &OrgId,
        emitter: &str,
        which: EventFilter<'_>,
        whole: bool,
        page: &Page,
    ) -> StoreResult<Listing<ListedEvent>> {
        history::events(&self.db.client().await?, org, emitter, which, whole, page).await
    }
    async fn newest_of(&self, org: &OrgId, emitters: Vec<String>) -> StoreResult<Vec<NewestOf>> {
        history::newest_of(&self.db.client().await?, org, &emitters).await
    }
    async fn events_after(
        &self,
        org: &OrgId,
        emitter: &str,
        after: EventId,
        limit: u32,
    ) -> StoreResult<Vec<Event>> {
        history::events_after(&self.db.client().await?, org, emitter, after, limit).await
    }
    async fn due_deferred(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>> {
        history::due_deferred(&self.db.client().await?, now, limit).await
    }
    async fn next_deferred_at(&self) -> StoreResult<Option<Timestamp>> {
        history::next_deferred_at(&self.db.client().await?).await
    }
    async fn delete_events(
        &self,
        org: &OrgId,
        emitter: &str,
        name: Option<&str>,
        range: (Option<EventId>, Option<EventId>),
    ) -> StoreResult<u64> {
        transaction!(self.db, |t| history::delete_events(&t, org, emitter, name, range))
    }
    async fn history_owners(&self, after: &str, limit: u32) -> StoreResult<Vec<String>> {
        retention::owners(&self.db.client().await?, after, limit).await
    }
    async fn prune(&self, pruning: Pruning) -> StoreResult<u64> {
        transaction!(self.db, "prune", |t| retention::prune(&t, &pruning))
    }
    async fn prune_leftovers(&self, leftovers: Leftovers) -> StoreResult<u64> {
        transaction!(self.db, |t| retention::prune_leftovers(&t, &leftovers))
    }
    async fn retention(&self, owner: &str) -> StoreResult<Option<Retention>> {
        retention::of(&self.db.client().await?, owner).await
    }
    async fn put_retention(
        &self,
        org: &OrgId,
        owner: &str,
        retention: Option<Retention>,
    ) -> StoreResult<()> {
        retention::put(&self.db.client().await?, org, owner, retention).await
    }
    async fn export(
        &self,
        org: &OrgId,
        filter: ExportFilter,
        out: tokio::sync::mpsc::Sender<Exported>,
    ) -> StoreResult<()> {
        export::export(&mut self.db.client().await?, org, &filter, &out).await
    }
}
