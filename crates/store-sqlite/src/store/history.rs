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
    Dialect, EndedRuns, ExportFilter, Exported, History, Leftovers, Lineage, ListedRun, NewestOf,
    Pruning, RunFilter, RunState, StoreResult, fail_point, log_query, run_row_columns,
};

use crate::rows::{many, one};
use crate::{SqliteStore, export, history, retention, rows};

#[async_trait]
impl History for SqliteStore {
    async fn run(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Run>> {
        let (org, id) = (org.clone(), id.clone());
        let sql = format!("SELECT {} FROM runs WHERE id = ?1 AND org_id = ?2", run_row_columns());
        self.db.read(move |c| one(c, &sql, [id.as_str(), org.as_str()], rows::run)).await
    }
    async fn run_bytes(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<u64>> {
        let (org, id) = (org.clone(), id.clone());
        self.db.read_history(move |c| history::run_bytes(c, &org, &id)).await
    }
    async fn lineage(&self, org: &OrgId, id: &RunId) -> StoreResult<Option<Lineage>> {
        let (org, id) = (org.clone(), id.clone());
        self.db.read_history(move |c| history::lineage(c, &org, &id)).await
    }
    async fn list_runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> StoreResult<Listing<ListedRun>> {
        let (org, filter, page) = (org.clone(), filter.clone(), page.clone());
        self.db.read_history(move |c| history::runs(c, &org, &filter, whole, &page)).await
    }
    async fn matching_runs(
        &self,
        org: &OrgId,
        filter: &RunFilter,
        after: Option<&(Timestamp, RunId)>,
        limit: u32,
    ) -> StoreResult<Vec<Run>> {
        let (org, filter, after) = (org.clone(), filter.clone(), after.cloned());
        self.db
            .read_history(move |c| history::matching_runs(c, &org, &filter, after.as_ref(), limit))
            .await
    }
    async fn count_runs(&self, org: &OrgId, filter: &RunFilter, max: u32) -> StoreResult<u64> {
        let (org, filter) = (org.clone(), filter.clone());
        self.db.read_history(move |c| history::count_runs(c, &org, &filter, max)).await
    }
    async fn run_states(
        &self,
        org: &OrgId,
        owner: &str,
        from: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<RunState>> {
        let (org, owner) = (org.clone(), owner.to_owned());
        self.db.read_history(move |c| history::run_states(c, &org, &owner, from, limit)).await
    }
    async fn ended_runs(
        &self,
        org: &OrgId,
        owner: Option<&str>,
        kind: RunKind,
        within: (Timestamp, Timestamp),
        max: u32,
    ) -> StoreResult<EndedRuns> {
        let (org, owner) = (org.clone(), owner.map(str::to_owned));
        self.db
            .read_history(move |c| {
                history::ended_runs(c, &org, owner.as_deref(), kind, within, max)
            })
            .await
    }
    async fn version_runs(&self, owner: &str, scan: u32) -> StoreResult<Vec<VersionRuns>> {
        let owner = owner.to_owned();
        self.db.read_history(move |c| history::version_runs(c, &owner, scan)).await
    }
    async fn run_logs(&self, id: &RunId) -> StoreResult<Vec<LogLine>> {
        let id = id.to_string();
        self.db
            .read_history(move |c| {
                many(c, "SELECT * FROM logs WHERE run_id = ?1 ORDER BY line", [id], |row| {
                    rows::log_line(row).map(|(_, line)| line)
                })
            })
            .await
    }
    async fn owner_logs(
        &self,
        org: &OrgId,
        owner: &str,
        filter: &LogFilter,
        limit: u32,
    ) -> StoreResult<Vec<OwnerLine>> {
        let (sql, values) = log_query(Dialect::Sqlite, org, owner, filter, limit);
        let mut lines = self
            .db
            .read_history(move |c| {
                many(c, &sql, history::to_sql(&values).as_slice(), rows::owner_line)
            })
            .await?;
        lines.reverse();
        Ok(lines)
    }
    async fn list_events(
        &self,
        org: &OrgId,
        emitter: &str,
        which: EventFilter<'_>,
        whole: bool,
        page: &Page,
    ) -> StoreResult<Listing<ListedEvent>> {
        let (org, emitter, page) = (org.clone(), emitter.to_owned(), page.clone());
        let (name, text) = (which.name.map(str::to_owned), which.text.map(str::to_owned));
        let of = move |c: &rusqlite::Connection| {
            let which = EventFilter { name: name.as_deref(), text: text.as_deref() };
            history::events(c, &org, &emitter, which, whole, &page)
        };
        self.db.read_history(of).await
    }
    async fn newest_of(&self, org: &OrgId, emitters: Vec<String>) -> StoreResult<Vec<NewestOf>> {
        let org = org.clone();
        self.db.read_history(move |c| history::newest_of(c, &org, &emitters)).await
    }
    async fn events_after(
        &self,
        org: &OrgId,
        emitter: &str,
        after: EventId,
        limit: u32,
    ) -> StoreResult<Vec<Event>> {
        let (org, emitter) = (org.clone(), emitter.to_owned());
        self.db.read_history(move |c| history::events_after(c, &org, &emitter, after, limit)).await
    }
    async fn due_deferred(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Event>> {
        self.db.read(move |c| history::due_deferred(c, now, limit)).await
    }
    async fn next_deferred_at(&self) -> StoreResult<Option<Timestamp>> {
        self.db.read(history::next_deferred_at).await
    }
    async fn delete_events(
        &self,
        org: &OrgId,
        emitter: &str,
        name: Option<&str>,
        range: (Option<EventId>, Option<EventId>),
    ) -> StoreResult<u64> {
        self.delete_in_steps(org, emitter, name, range).await
    }
    async fn history_owners(&self, after: &str, limit: u32) -> StoreResult<Vec<String>> {
        let after = after.to_owned();
        self.db.read(move |c| retention::owners(c, after, limit)).await
    }
    async fn prune(&self, pruning: Pruning) -> StoreResult<u64> {
        let owner = pruning.owner.clone();
        let found = self.db.read(move |c| retention::find(c, &pruning)).await?;
        if found.is_empty() {
            return Ok(0);
        }
        write_at!(self, "prune", |c| retention::prune(c, &owner, &found))
    }
    async fn prune_leftovers(&self, leftovers: Leftovers) -> StoreResult<u64> {
        self.db.write(move |c| retention::prune_leftovers(c, &leftovers)).await
    }
    async fn retention(&self, owner: &str) -> StoreResult<Option<Retention>> {
        let owner = owner.to_owned();
        self.db.read(move |c| retention::of(c, &owner)).await
    }
    async fn put_retention(
        &self,
        org: &OrgId,
        owner: &str,
        retention: Option<Retention>,
    ) -> StoreResult<()> {
        let (org, owner) = (org.clone(), owner.to_owned());
        self.db.write(move |c| retention::put(c, &org, &owner, retention)).await
    }
    async fn export(
        &self,
        org: &OrgId,
        filter: ExportFilter,
        out: tokio::sync::mpsc::Sender<Exported>,
    ) -> StoreResult<()> {
        let org = org.clone();
        self.db.read_aside(move |c| export::export(c, &org, &filter, &out)).await
    }
}
