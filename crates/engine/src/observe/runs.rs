//! History of runs: records, logs, statistics, search.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::ids::RunId;
use millrace_model::page::{Listing, Page, Room};
use millrace_model::replay::RUNS_NAMED_MAX;
use millrace_model::run::{LogFilter, OwnerLine, RunKind};
use millrace_model::run_stats::{Buckets, BucketsError, EndedRun, RunCounts};
use millrace_model::search::AskedWord;
use millrace_model::tenant::Caller;
use millrace_store::{FoundRuns, IndexState, ListedRun, RunFilter, RunState};

use crate::EngineError;
use crate::ctx::Ctx;
use crate::deliver::target;
use crate::observe::search::IndexedRuns;
use crate::observe::views::RunView;
use crate::owners::check_owner;

/// Runs that statistics look at.
const STATS_RUNS_MAX: u32 = 100_000;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// Of which time statistics are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedStats {
    /// From when; none: a day before the end.
    pub from: Option<Timestamp>,
    /// Until when; none: now.
    pub to: Option<Timestamp>,
    /// The length of a bucket; none: a 24th of the time.
    pub bucket_ms: Option<i64>,
}

/// Statistics of runs that ended.
#[derive(Clone, Debug)]
pub struct RunStats {
    /// The time.
    pub buckets: Buckets,
    /// All of it.
    pub total: RunCounts,
    /// Each bucket, with its beginning.
    pub parts: Vec<(Timestamp, RunCounts)>,
    /// When the oldest run was accepted that was looked at, where there were too many; none: all
    /// were.
    pub looked_at_from: Option<Timestamp>,
}

/// Statistics of runs that ended, of each workflow and source.
#[derive(Clone, Debug)]
pub struct OwnerStats {
    buckets: Buckets,
    runs: HashMap<String, Vec<EndedRun>>,
    looked_at_from: Option<Timestamp>,
}

impl OwnerStats {
    /// Those of one.
    pub fn of(&self, owner: &str) -> RunStats {
        let (total, parts) = self.buckets.count(self.runs.get(owner).map_or(&[], Vec::as_slice));
        RunStats { buckets: self.buckets, total, parts, looked_at_from: self.looked_at_from }
    }
}

/// The runs of all organizations.
pub struct Runs {
    ctx: Arc<Ctx>,
}

impl Runs {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// The newest log lines of a source or workflow that fit, the oldest of them first.
    pub async fn owner_logs(
        &self,
        caller: &Caller,
        owner: &str,
        filter: &LogFilter,
        limit: u32,
    ) -> Result<Vec<OwnerLine>, EngineError> {
        let lines = self.ctx.store.owner_logs(&caller.org_id, owner, filter, limit).await?;
        if lines.is_empty() {
            check_owner(&self.ctx, caller, owner).await?;
        }
        // Of what was deleted the log tells how that went (reference 3), as long as it is kept.
        Ok(lines)
    }

    /// A run with its logs.
    pub async fn get(&self, caller: &Caller, id: &RunId) -> Result<RunView, EngineError> {
        let run = self
            .ctx
            .store
            .run(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        let logs = self.ctx.store.run_logs(id).await?;
        let deliveries =
            self.ctx.store.run_deliveries(id).await?.into_iter().map(|d| (target(&d), d)).collect();
        let lineage = self.ctx.store.lineage(&caller.org_id, id).await?.unwrap_or_default();
        Ok(RunView { run, lineage, logs, deliveries })
    }

    /// The same where there is room for it, `NoMemory` where not.
    pub async fn get_within(
        &self,
        caller: &Caller,
        id: &RunId,
        room: &Room,
    ) -> Result<RunView, EngineError> {
        let bytes = self
            .ctx
            .store
            .run_bytes(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("run", id))?;
        if !room.take(bytes) {
            return Err(EngineError::NoMemory);
        }
        self.get(caller, id).await
    }

    /// Runs of a source or workflow of the organization, newest first, as whole records. `NoMemory`
    /// where the page has no room.
    pub async fn list_of(
        &self,
        caller: &Caller,
        owner: String,
        filter: RunFilter,
        page: &Page,
    ) -> Result<Listing<ListedRun>, EngineError> {
        check_owner(&self.ctx, caller, &owner).await?;
        self.list(caller, &RunFilter { owner: Some(owner), ..filter }, true, page).await
    }

    /// Runs of the organization, newest first, also those of owners that were deleted since; not
    /// `whole`: light records. `NoMemory` where the page has no room.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> Result<Listing<ListedRun>, EngineError> {
        Ok(self.ctx.store.list_runs(&caller.org_id, filter, whole, page).await?)
    }

    /// The newest runs of a source or workflow from a time on, newest first, as far as it shows
    /// whether they changed.
    pub async fn states(
        &self,
        caller: &Caller,
        owner: &str,
        from: Timestamp,
        limit: u32,
    ) -> Result<Vec<RunState>, EngineError> {
        check_owner(&self.ctx, caller, owner).await?;
        Ok(self.ctx.store.run_states(&caller.org_id, owner, from, limit).await?)
    }

    /// Statistics of runs that ended, of the organization or one owner, also one that was deleted
    /// since.
    pub async fn stats(
        &self,
        caller: &Caller,
        owner: Option<&str>,
        kind: RunKind,
        asked: &AskedStats,
    ) -> Result<RunStats, EngineError> {
        let to = asked.to.unwrap_or_else(|| self.ctx.now());
        let from = asked.from.unwrap_or_else(|| to.plus_ms(-DAY_MS));
        let buckets = Buckets::of(from, to, asked.bucket_ms).map_err(|error| {
            let field = if error == BucketsError::Empty { "to" } else { "bucket_ms" };
            EngineError::invalid(field, error.to_string())
        })?;
        let found = self
            .ctx
            .store
            .ended_runs(&caller.org_id, owner, kind, (from, to), STATS_RUNS_MAX)
            .await?;
        let (total, parts) = buckets.count(&found.runs);
        Ok(RunStats { buckets, total, parts, looked_at_from: found.looked_at_from })
    }

    /// Those of live runs of one owner in the time before now.
    pub async fn latest_stats(
        &self,
        caller: &Caller,
        owner: &str,
        window_ms: i64,
        bucket_ms: i64,
    ) -> Result<RunStats, EngineError> {
        let to = self.ctx.now();
        let asked = AskedStats {
            from: Some(to.plus_ms(-window_ms)),
            to: Some(to),
            bucket_ms: Some(bucket_ms),
        };
        self.stats(caller, Some(owner), RunKind::Live, &asked).await
    }

    /// The same of each owner in the organization, read once for all.
    pub async fn owner_stats(
        &self,
        caller: &Caller,
        window_ms: i64,
        bucket_ms: i64,
    ) -> Result<OwnerStats, EngineError> {
        let to = self.ctx.now();
        let from = to.plus_ms(-window_ms);
        let buckets = Buckets::of(from, to, Some(bucket_ms))
            .map_err(|error| EngineError::internal("buckets of a known window", error))?;
        let found = self
            .ctx
            .store
            .ended_runs(&caller.org_id, None, RunKind::Live, (from, to), STATS_RUNS_MAX)
            .await?;
        let mut runs: HashMap<String, Vec<EndedRun>> = HashMap::new();
        for (owner, run) in found.owners.into_iter().zip(found.runs) {
            runs.entry(owner).or_default().push(run);
        }
        Ok(OwnerStats { buckets, runs, looked_at_from: found.looked_at_from })
    }

    /// Runs of the organization that have all words and fit, newest first, as [`Runs::list`]
    /// gives them; and what the index has.
    pub async fn search(
        &self,
        caller: &Caller,
        words: &[Vec<AskedWord>],
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> Result<(FoundRuns, IndexedRuns), EngineError> {
        // Asked before: what comes into the index meanwhile is found though this says it may not
        // be.
        let now = self.ctx.now();
        let IndexState { until, from } = self.ctx.store.index_state(&caller.org_id).await?;
        let found = self.ctx.store.search_runs(&caller.org_id, words, filter, whole, page).await?;
        Ok((found, IndexedRuns { until: until.unwrap_or(now), from }))
    }

    /// The filter that names the runs which have all words and fit. `InvalidField` where they are
    /// more than [`RUNS_NAMED_MAX`].
    pub(crate) async fn having(
        &self,
        caller: &Caller,
        words: &[Vec<AskedWord>],
        filter: RunFilter,
    ) -> Result<RunFilter, EngineError> {
        let page = Page { limit: RUNS_NAMED_MAX as u32 + 1, ..Page::default() };
        let found =
            self.ctx.store.search_runs(&caller.org_id, words, &filter, false, &page).await?;
        let runs = found.listing.items;
        if runs.len() > RUNS_NAMED_MAX {
            let message = format!(
                "`q` is in more than {RUNS_NAMED_MAX} runs that fit; allowed are {RUNS_NAMED_MAX}: add words, or narrow the filter (`from`, `to`)"
            );
            return Err(EngineError::invalid("q", message));
        }
        if let Some(from) = found.looked_at_from {
            let message = format!(
                "the runs before {} were not looked through for `q`, because too many have its words; name that time as `from`, or add words",
                from.ms()
            );
            return Err(EngineError::invalid("q", message));
        }
        Ok(RunFilter { ids: Some(runs.into_iter().map(|found| found.run.id).collect()), ..filter })
    }
}
