//! Errors and replays.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, ErrorGroupChange, ErrorVersion};
use millrace_model::ids::{ErrorGroupId, OrgId, ReplayId};
use millrace_model::page::{Listing, Page};
use millrace_model::replay::{Replay, ReplayCounts, ReplayedRun};
use millrace_model::run::Run;
use millrace_store::{ErrorGroupFilter, Errors, FailedRuns, FailedTime, ReplayStep, StoreResult};

use crate::rows::{list, one};
use crate::{SqliteStore, errors, replays, rows};

#[async_trait]
impl Errors for SqliteStore {
    async fn list_error_groups(
        &self,
        org: &OrgId,
        filter: &ErrorGroupFilter,
        page: &Page,
    ) -> StoreResult<Listing<ErrorGroup>> {
        let (org, filter, page) = (org.clone(), filter.clone(), page.clone());
        self.db.read(move |c| errors::groups(c, &org, &filter, &page)).await
    }
    async fn change_error_group(
        &self,
        org: &OrgId,
        id: &ErrorGroupId,
        change: ErrorGroupChange,
    ) -> StoreResult<bool> {
        let (org, id) = (org.clone(), id.clone());
        self.db.write(move |c| errors::change(c, &org, &id, &change)).await
    }
    async fn error_group_changes(&self, id: &ErrorGroupId) -> StoreResult<Vec<ErrorGroupChange>> {
        let id = id.clone();
        self.db.read(move |c| errors::changes(c, &id)).await
    }
    async fn error_group_versions(
        &self,
        group: &ErrorGroup,
        scan: u32,
    ) -> StoreResult<Vec<ErrorVersion>> {
        let group = group.clone();
        self.db.read(move |c| errors::versions(c, &group, scan)).await
    }
    async fn failed_times(
        &self,
        org: &OrgId,
        within: (Timestamp, Timestamp),
        max: u32,
    ) -> StoreResult<Vec<FailedTime>> {
        let org = org.clone();
        self.db.read(move |c| errors::failed_times(c, &org, within, max)).await
    }
    async fn error_group(&self, org: &OrgId, id: &ErrorGroupId) -> StoreResult<Option<ErrorGroup>> {
        by_id!(self, "error_groups", org, id, rows::error_group)
    }
    async fn failed_runs(&self, which: &FailedRuns) -> StoreResult<Vec<Run>> {
        let which = which.clone();
        self.db.read(move |c| errors::failed(c, &which)).await
    }
    async fn count_failed_runs(&self, which: &FailedRuns) -> StoreResult<u64> {
        let which = which.clone();
        self.db.read(move |c| errors::count_failed(c, &which)).await
    }
    async fn create_replay(&self, replay: Replay) -> StoreResult<()> {
        self.db.write(move |c| replays::create(c, &replay)).await
    }
    async fn replay(&self, org: &OrgId, id: &ReplayId) -> StoreResult<Option<Replay>> {
        by_id!(self, "replays", org, id, rows::replay)
    }
    async fn list_replays(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Replay>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| list(c, "replays", "org_id = ?1", &[&org], &page, rows::listed_replay))
            .await
    }
    async fn running_replays(&self, after: &str, limit: u32) -> StoreResult<Vec<Replay>> {
        let after = after.to_owned();
        self.db.queued("replays", move |c| replays::running(c, &after, limit)).await
    }
    async fn step_replay(&self, step: ReplayStep) -> StoreResult<()> {
        self.db.write(move |c| replays::step(c, &step)).await
    }
    async fn replay_counts(&self, id: &ReplayId) -> StoreResult<ReplayCounts> {
        let id = id.clone();
        self.db.read(move |c| replays::counts(c, &id)).await
    }
    async fn replay_under_way(&self, id: &ReplayId) -> StoreResult<u64> {
        let id = id.clone();
        self.db.read(move |c| replays::under_way(c, &id)).await
    }
    async fn replayed_runs(&self, id: &ReplayId, page: &Page) -> StoreResult<Listing<ReplayedRun>> {
        let (id, page) = (id.clone(), page.clone());
        self.db.read(move |c| replays::replayed(c, &id, &page)).await
    }
}
