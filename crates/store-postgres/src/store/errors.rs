//! Errors and replays.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, ErrorGroupChange, ErrorVersion};
use millrace_model::ids::{ErrorGroupId, OrgId, ReplayId};
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_model::run::Run;
use millrace_store::{ErrorGroupFilter, Errors, FailedRuns, FailedTime, ReplayStep, StoreResult};

use crate::db::transaction;
use crate::rows::{Table, list, one};
use crate::{PostgresStore, errors, replays, rows};

#[async_trait]
impl Errors for PostgresStore {
    async fn list_error_groups(
        &self,
        org: &OrgId,
        filter: &ErrorGroupFilter,
        page: &Page,
    ) -> StoreResult<Listing<ErrorGroup>> {
        errors::groups(&self.db.client().await?, org, filter, page).await
    }
    async fn change_error_group(
        &self,
        org: &OrgId,
        id: &ErrorGroupId,
        change: ErrorGroupChange,
    ) -> StoreResult<bool> {
        transaction!(self.db, |t| errors::change(&t, org, id, &change))
    }
    async fn error_group_changes(&self, id: &ErrorGroupId) -> StoreResult<Vec<ErrorGroupChange>> {
        errors::changes(&self.db.client().await?, id).await
    }
    async fn error_group_versions(
        &self,
        group: &ErrorGroup,
        scan: u32,
    ) -> StoreResult<Vec<ErrorVersion>> {
        errors::versions(&self.db.client().await?, group, scan).await
    }
    async fn failed_times(
        &self,
        org: &OrgId,
        within: (Timestamp, Timestamp),
        max: u32,
    ) -> StoreResult<Vec<FailedTime>> {
        errors::failed_times(&self.db.client().await?, org, within, max).await
    }
    async fn error_group(&self, org: &OrgId, id: &ErrorGroupId) -> StoreResult<Option<ErrorGroup>> {
        by_id!(self, "error_groups", rows::ERROR_GROUP, org, id, rows::error_group)
    }
    async fn failed_runs(&self, which: &FailedRuns) -> StoreResult<Vec<Run>> {
        errors::failed(&self.db.client().await?, which).await
    }
    async fn count_failed_runs(&self, which: &FailedRuns) -> StoreResult<u64> {
        errors::count_failed(&self.db.client().await?, which).await
    }
    async fn create_replay(&self, replay: Replay) -> StoreResult<()> {
        replays::create(&self.db.client().await?, &replay).await
    }
    async fn replay(&self, org: &OrgId, id: &ReplayId) -> StoreResult<Option<Replay>> {
        by_id!(self, "replays", rows::REPLAY, org, id, rows::replay)
    }
    async fn list_replays(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Replay>> {
        let table = Table { name: "replays", columns: rows::REPLAY, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::listed_replay).await
    }
    async fn running_replays(&self, after: &str, limit: u32) -> StoreResult<Vec<Replay>> {
        replays::running(&self.db.client().await?, after, limit).await
    }
    async fn step_replay(&self, step: ReplayStep) -> StoreResult<()> {
        transaction!(self.db, |t| replays::step(&t, &step))
    }
    async fn replay_counts(&self, id: &ReplayId) -> StoreResult<ReplayCounts> {
        replays::counts(&self.db.client().await?, id).await
    }
    async fn replay_under_way(&self, id: &ReplayId) -> StoreResult<u64> {
        replays::under_way(&self.db.client().await?, id).await
    }
    async fn replayed_runs(&self, id: &ReplayId, page: &Page) -> StoreResult<Listing<ReplayedRun>> {
        replays::replayed(&self.db.client().await?, id, page).await
    }
}
