//! Retention of history: the limits set for each source and workflow, and the task that prunes what
//! is beyond them.

use std::sync::Arc;
use std::time::Duration;

use millrace_model::retention::Retention;
use millrace_model::tenant::Caller;
use millrace_store::{Leftovers, Pruning, StoreError, StoreResult, fail};
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::background::{Activation, Background, Next, Task};
use crate::ctx::Ctx;
use crate::owners::{check_owner, owner_of};

/// How often history is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// The same where a test waits for an instant of it.
const PRUNE_EVERY_IN_TESTS: Duration = Duration::from_secs(1);
/// Rows of a kind in a step, and the pause after it: events that come in meanwhile wait for one
/// step at most.
const PRUNE_ROWS: u32 = 200;
const PRUNE_PAUSE: Duration = Duration::from_millis(20);
/// Parts of files that a step removes, of a MiB each.
const PURGE_PARTS: u32 = 32;
/// Owners looked up at once.
const OWNERS: u32 = 100;

/// How much history of a workflow or source is kept.
#[derive(Clone, Copy, Debug)]
pub struct RetentionView {
    /// What was set for it.
    pub set: Retention,
    /// What the server says where nothing was.
    pub server: Retention,
    /// The operator's ceiling.
    pub max: Retention,
}

impl RetentionView {
    /// How much is kept.
    pub fn kept(&self) -> Retention {
        self.set.or(self.server).at_most(self.max)
    }
}

/// How much history of each source and workflow is kept.
pub struct Retentions {
    ctx: Arc<Ctx>,
}

impl Retentions {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// How much history of a source or workflow is kept.
    pub async fn get(&self, caller: &Caller, owner: &str) -> Result<RetentionView, EngineError> {
        check_owner(&self.ctx, caller, owner).await?;
        let set = self.ctx.store.retention(owner).await?.unwrap_or_default();
        Ok(RetentionView { set, server: self.ctx.config.keep, max: self.ctx.config.keep_max })
    }

    /// Sets how much history of a source or workflow is kept, from what is set then; what is
    /// absent is as the server says.
    pub async fn set(
        &self,
        caller: &Caller,
        owner: &str,
        change: impl FnOnce(Retention) -> Retention,
    ) -> Result<RetentionView, EngineError> {
        let _turn = self.ctx.changes.turn(&format!("retention of {owner}")).await;
        // What is stored anew takes the place of what cannot be read.
        let before = match self.get(caller, owner).await {
            Ok(view) => view.set,
            Err(EngineError::Damaged { .. }) => Retention::default(),
            Err(error) => return Err(error),
        };
        let retention = change(before);
        let ceiling = self.ctx.config.keep_max;
        // What was set before the ceiling was lowered can be written back.
        let bounded = |field: &str,
                       value: Option<u32>,
                       before: Option<u32>,
                       max: u32,
                       ceiling: Option<u32>,
                       option: &str| match value {
            _ if value == before => Ok(()),
            Some(n) if ceiling.is_some_and(|ceiling| n > ceiling) && n <= max => {
                let ceiling = ceiling.unwrap_or(max);
                Err(EngineError::invalid(
                    field,
                    format!(
                        "`{field}` is {n}, more than this server's operator allows: {ceiling} ({option})"
                    ),
                ))
            }
            Some(n) if n == 0 || n > max => Err(EngineError::invalid(
                field,
                format!(
                    "`{field}` is {n}, allowed are 1 to {max}, or null for the server's setting"
                ),
            )),
            _ => Ok(()),
        };
        bounded(
            "keep_days",
            retention.keep_days,
            before.keep_days,
            Retention::DAYS_MAX,
            ceiling.keep_days,
            "--keep-days-max",
        )?;
        bounded(
            "keep_count",
            retention.keep_count,
            before.keep_count,
            Retention::COUNT_MAX,
            ceiling.keep_count,
            "--keep-count-max",
        )?;
        let set = (retention != Retention::default()).then_some(retention);
        self.ctx.store.put_retention(&caller.org_id, owner, set).await?;
        Ok(RetentionView {
            set: retention,
            server: self.ctx.config.keep,
            max: self.ctx.config.keep_max,
        })
    }
}

/// Removes history that is not kept any more.
pub(crate) struct Pruner {
    ctx: Arc<Ctx>,
}

impl Background for Pruner {
    const TASK: Task = Task::Pruner;

    async fn activate(&mut self, now: &Activation) -> Next {
        match self.prune(&now.stop).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "old history was pruned"),
            Err(error) => now.warned("could not prune history", &error),
        }
        Next::After(if fail::are_asked_for() { PRUNE_EVERY_IN_TESTS } else { PRUNE_EVERY })
    }
}

impl Pruner {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// Prunes all there is to prune, step by step, until it is done or told to stop. How many rows
    /// in all.
    async fn prune(&self, stop: &CancellationToken) -> StoreResult<u64> {
        let (mut gone, mut after) = (0, String::new());
        loop {
            let owners = self.ctx.store.history_owners(&after, OWNERS).await?;
            for owner in &owners {
                gone += match self.prune_owner(owner, stop).await {
                    // The history of others is pruned all the same.
                    Err(error @ StoreError::Corrupt { .. }) => {
                        tracing::warn!(owner, %error, "history was not pruned");
                        0
                    }
                    pruned => pruned?,
                };
            }
            match owners.into_iter().next_back() {
                Some(last) if !stop.is_cancelled() => after = last,
                _ => break,
            }
        }
        let now = self.ctx.now();
        let audit = Retention { keep_days: self.ctx.config.keep_audit_days, keep_count: None };
        let leftovers = Leftovers {
            before: self.ctx.config.keep.cut(now),
            audit_before: audit.cut(now),
            now,
            limit: PRUNE_ROWS,
        };
        loop {
            let step = self.ctx.store.prune_leftovers(leftovers).await?;
            gone += step;
            if step == 0 || paused(stop).await {
                break;
            }
        }
        while self.ctx.store.purge_uploads(self.ctx.now(), PURGE_PARTS).await? > 0
            && !paused(stop).await
        {}
        while self.ctx.store.purge_data_stores(self.ctx.now(), PRUNE_ROWS).await? > 0
            && !paused(stop).await
        {}
        Ok(gone)
    }

    async fn prune_owner(&self, owner: &str, stop: &CancellationToken) -> StoreResult<u64> {
        let keep = self
            .ctx
            .store
            .retention(owner_of(owner))
            .await?
            .unwrap_or_default()
            .or(self.ctx.config.keep)
            .at_most(self.ctx.config.keep_max);
        let pruning = Pruning {
            owner: owner.to_owned(),
            before: keep.cut(self.ctx.now()),
            keep_count: keep.keep_count,
            limit: PRUNE_ROWS,
        };
        let mut gone = 0;
        while !stop.is_cancelled() {
            let step = self.ctx.store.prune(pruning.clone()).await?;
            gone += step;
            if step == 0 || paused(stop).await {
                break;
            }
        }
        Ok(gone)
    }
}

/// Lets others write; says whether it is time to stop.
async fn paused(stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(PRUNE_PAUSE) => false,
    }
}
